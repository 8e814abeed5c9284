#include "pair_probe/steering.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

// NOLINTNEXTLINE(readability-redundant-declaration): glibc declares it with _GNU_SOURCE only
extern char** environ;

namespace pair_probe {

namespace {

std::runtime_error failure(const std::string& what) {
    return std::runtime_error("expected the command of --steer to say the rounds, found that " +
                              what + ": see what it says on standard error");
}

// Both ends; they are closed in the command but for what it gets as standard input and output.
std::array<int, 2> make_pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw failure("there can be no pipe to it");
    }
    return ends;
}

} // namespace

// posix_spawn and not fork: pages that a network card holds must not be copied.
Steering::Steering(const std::string& command) {
    (void)std::signal(SIGPIPE, SIG_IGN); // a command that has ended is told by ask()
    const std::array<int, 2> in = make_pipe();
    const std::array<int, 2> out = make_pipe();
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::string shell = "sh";
    std::string option = "-c";
    std::string words = command;
    const std::array<char*, 4> arguments = {shell.data(), option.data(), words.data(), nullptr};
    const int error =
        posix_spawn(&process_, "/bin/sh", &actions, nullptr, arguments.data(), environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(in[0]);
    (void)close(out[1]);
    input_ = in[1];
    output_ = fdopen(out[0], "r");
    if (error != 0 || output_ == nullptr) {
        process_ = error != 0 ? -1 : process_;
        close_pipes();
        throw failure("it can't be started");
    }
}

Steering::~Steering() {
    close_pipes();
    if (process_ > 0) {
        (void)kill(process_, SIGTERM);
        (void)waitpid(process_, nullptr, 0);
    }
}

void Steering::tell(const std::string& line) const {
    std::size_t written = 0;
    while (written < line.size()) {
        const ssize_t count = write(input_, line.data() + written, line.size() - written);
        if (count < 0 && errno == EPIPE) {
            return;
        }
        if (count < 0 && errno != EINTR) {
            throw failure("nothing can be written to it");
        }
        written += count < 0 ? 0 : static_cast<std::size_t>(count);
    }
}

std::string Steering::ask() {
    char* line = nullptr;
    std::size_t room = 0;
    const ssize_t length = getline(&line, &room, output_);
    std::string text(line == nullptr || length < 0 ? "" : line);
    std::free(line); // NOLINT(cppcoreguidelines-no-malloc): getline's
    if (length < 0) {
        throw failure("it ended before it said \"end\"");
    }
    if (!text.empty() && text.back() == '\n') {
        text.pop_back();
    }
    return text;
}

void Steering::finish() {
    close_pipes();
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    if (status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)) {
        throw failure("it failed");
    }
}

void Steering::close_pipes() {
    if (input_ >= 0) {
        (void)close(input_);
        input_ = -1;
    }
    if (output_ != nullptr) {
        (void)std::fclose(output_);
        output_ = nullptr;
    }
}

} // namespace pair_probe
