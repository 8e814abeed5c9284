// A completion queue that is polled, or slept upon.
#pragma once

#include "common/verbs/kinds.hpp"
#include "common/verbs/port.hpp"

#include <chrono>

namespace bench::verbs {

class CompletionQueue {
  public:
    /// Holds `depth` completions at least. Throws UsageError if the device has no such depth.
    CompletionQueue(const Port& port, unsigned depth, Waiting waiting);
    ~CompletionQueue();
    CompletionQueue(const CompletionQueue&) = delete;
    CompletionQueue& operator=(const CompletionQueue&) = delete;

    [[nodiscard]] ibv_cq* handle() const { return queue_.get(); }

    /// Takes up to `room` completions; does not wait. Throws std::runtime_error if the queue is
    /// broken; what a completion says of its request is the caller's to check.
    int poll(ibv_wc* completions, int room) {
        const int found = ibv_poll_cq(queue_.get(), room, completions);
        if (__builtin_expect(static_cast<long>(found < 0), 0) != 0) {
            throw_broken();
        }
        return found;
    }

    /// Events: sleeps until a completion came since the last poll that found none, or the time is
    /// over. Polling: returns at once. The caller polls afterwards in either case.
    ///
    /// A completion that comes between the caller's empty poll and the request for an event would
    /// wake nobody, so the request is made first and the queue polled once more: call `arm`, poll,
    /// and only if that found nothing `sleep`.
    void arm();
    void sleep(std::chrono::microseconds longest);

    [[nodiscard]] Waiting waiting() const {
        return channel_ == nullptr ? Waiting::Polling : Waiting::Event;
    }

  private:
    [[noreturn, gnu::cold]] static void throw_broken();

    Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
    Owned<ibv_cq, ibv_destroy_cq> queue_;
    unsigned unacknowledged_ = 0;
};

/// One sentence for a completion that is no success: "send to rx 0: transport retry counter
/// exceeded (status 12, vendor error 0x81)".
std::string describe(const ibv_wc& completion, const std::string& request);

} // namespace bench::verbs
