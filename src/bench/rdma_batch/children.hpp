// Processes of our own: one for each device.
#pragma once

#include <functional>
#include <sys/types.h>
#include <vector>

namespace rdma_batch {

/// Ends what is left of them with its owner; they end with this process whatever kills it.
class Children {
  public:
    Children() = default;
    ~Children() { kill_all(); }
    Children(const Children&) = delete;
    Children& operator=(const Children&) = delete;

    /// Forks a process that runs `work` and exits with what it returns. It ignores the signals that
    /// interrupt this one. Throws std::runtime_error if there can be no more processes.
    void start(const std::function<int()>& work);

    /// Waits for all; returns the first exit code that is not 0.
    int wait();

    /// Kills those that still run, and waits for them.
    void kill_all();

  private:
    std::vector<pid_t> running_;
};

} // namespace rdma_batch
