// What the initiator's processes share: a barrier before each batch, and when to stop.
#pragma once

#include <array>
#include <atomic>
#include <pthread.h>

namespace rdma_batch {

/// In memory that all processes of one end map. Made before they are forked.
class SharedBarrier {
  public:
    /// For so many processes. Throws std::runtime_error if there is no such memory.
    /// Stays until the last of them has ended.
    static SharedBarrier* make(unsigned processes);

    /// Asks all processes to stop after the batch that is under way.
    void interrupt() { interrupted_ = true; }
    [[nodiscard]] bool interrupted() const { return interrupted_; }

    /// Waits for the others; rank 0 says whether another batch follows, and all hear the same.
    bool agree(unsigned rank, bool another);

  private:
    explicit SharedBarrier(unsigned processes);

    unsigned processes_;
    pthread_barrier_t barrier_{};
    std::atomic<bool> interrupted_{false};
    // Two in turns: rank 0 may say the next while others still read the last.
    std::array<std::atomic<bool>, 2> another_{};
    std::array<unsigned, 64> turns_{}; ///< of each rank
};

static_assert(std::atomic<bool>::is_always_lock_free, "processes share it");

} // namespace rdma_batch
