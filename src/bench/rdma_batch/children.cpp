#include "rdma_batch/children.hpp"

#include "common/output.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdma_batch {

void Children::start(const std::function<int()>& work) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
        throw std::runtime_error(std::string("no process for a device can be started: ") +
                                 std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    if (child == 0) {
        running_.clear();
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)std::signal(SIGINT, SIG_IGN);
        (void)std::signal(SIGTERM, SIG_IGN);
        const int code = getppid() == parent ? work() : bench::kFailure;
        (void)std::fflush(nullptr);
        _exit(code); // what the parent holds is not the child's to give back
    }
    running_.push_back(child);
}

int Children::wait() {
    int first = bench::kSuccess;
    for (const pid_t child : running_) {
        int status = 0;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : bench::kFailure;
        first = first == bench::kSuccess ? code : first;
    }
    running_.clear();
    return first;
}

void Children::kill_all() {
    for (const pid_t child : running_) {
        (void)kill(child, SIGKILL);
    }
    (void)wait();
}

} // namespace rdma_batch
