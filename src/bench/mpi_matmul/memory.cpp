#include "mpi_matmul/memory.hpp"

#include "mpi_matmul/freivalds.hpp"
#include "mpi_matmul/shares.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

namespace mpi_matmul {

namespace {

using std::filesystem::path;

std::optional<std::uint64_t> read_number(const path& file) {
    std::ifstream stream(file);
    std::uint64_t number = 0;
    if (stream >> number) {
        return number;
    }
    return std::nullopt; // not there, or the word "max"
}

// "MemAvailable:   123 kB" and "inactive_file 123": the number after the word that begins a line.
std::optional<std::uint64_t> read_entry(const path& file, const std::string& wanted) {
    std::ifstream stream(file);
    std::string word;
    std::uint64_t number = 0;
    for (std::string line; stream >> word >> number; std::getline(stream, line)) {
        if (word == wanted) {
            return number;
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> least(std::optional<std::uint64_t> one,
                                   std::optional<std::uint64_t> other) {
    if (!one || !other) {
        return one ? one : other;
    }
    return std::min(*one, *other);
}

// What is left in one control group. Pages of files that nobody uses count as left.
std::optional<std::uint64_t> left_in(const path& group) {
    const auto limit = read_number(group / "memory.max");
    const auto used = read_number(group / "memory.current");
    if (!limit || !used) {
        return std::nullopt;
    }
    const std::uint64_t files = read_entry(group / "memory.stat", "inactive_file").value_or(0);
    const std::uint64_t held = *used - std::min(*used, files);
    return *limit - std::min(*limit, held);
}

// The line "0::/slurm/job_7" names the group of version 2; those above it have limits too.
std::optional<std::uint64_t> left_in_groups(const path& root) {
    std::ifstream stream(root / "proc/self/cgroup");
    std::optional<std::uint64_t> left;
    for (std::string line; std::getline(stream, line);) {
        if (line.rfind("0::/", 0) != 0) {
            continue;
        }
        const path top = root / "sys/fs/cgroup";
        for (path below = line.substr(4); !below.empty(); below = below.parent_path()) {
            left = least(left, left_in(top / below));
        }
        left = least(left, left_in(top)); // has a limit where a container sees its group as the top
    }
    return left;
}

} // namespace

std::uint64_t needed_bytes(std::uint64_t n, std::uint64_t rows, bool root) {
    if (root) {
        return 3 * matrix_bytes(n, n) + Freivalds::bytes(n);
    }
    return matrix_bytes(n, n) + 2 * matrix_bytes(rows, n);
}

std::uint64_t needed_on_gpu(std::uint64_t n, std::uint64_t rows, bool whole) {
    return matrix_bytes(n, n) + 2 * matrix_bytes(whole ? n : rows, n);
}

std::optional<std::uint64_t> available_bytes(const path& root) {
    constexpr std::uint64_t kKibibyte = 1024;
    std::optional<std::uint64_t> free = read_entry(root / "proc/meminfo", "MemAvailable:");
    if (free) {
        *free *= kKibibyte;
    }
    return least(free, left_in_groups(root));
}

std::string in_words(std::uint64_t bytes) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.3g GB", static_cast<double>(bytes) / 1e9);
    return text.data();
}

} // namespace mpi_matmul
