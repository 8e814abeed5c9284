#include "common/output.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace bench {

// NOLINTNEXTLINE(cert-dcl50-cpp)
void print(std::FILE* stream, const char* format, ...) {
    va_list arguments; // NOLINT(cppcoreguidelines-init-variables): va_start does
    va_start(arguments, format);
    (void)std::vfprintf(stream, format, arguments);
    va_end(arguments);
}

std::string why_not_writable(const std::string& path) {
    if (path.empty() || path == "-") {
        return {};
    }
    const std::filesystem::path file(path);
    const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) {
        return "it is a folder";
    }
    if (!std::filesystem::is_directory(folder, ignored)) {
        return "there is no folder " + folder.string();
    }
    if (access(folder.c_str(), W_OK) != 0) {
        return "the folder " + folder.string() + " is not writable";
    }
    return {};
}

std::string write_file(const std::string& path, const std::string& text) {
    if (path == "-") {
        const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
        return written ? std::string() : "standard output cannot be written";
    }
    const std::string temporary = path + "." + std::to_string(getpid()) + ".tmp";
    std::FILE* const file = std::fopen(temporary.c_str(), "w");
    if (file == nullptr) {
        return std::strerror(errno); // NOLINT(concurrency-mt-unsafe): one thread
    }
    const bool put = std::fputs(text.c_str(), file) >= 0;
    const bool closed = std::fclose(file) == 0;
    if (!put || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
        std::string reason = std::strerror(errno); // NOLINT(concurrency-mt-unsafe)
        (void)std::remove(temporary.c_str());
        return reason;
    }
    return {};
}

std::FILE* table_stream(const std::string& json) {
    return json == "-" ? stderr : stdout;
}

} // namespace bench
