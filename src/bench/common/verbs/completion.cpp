#include "common/verbs/completion.hpp"

#include "common/arguments.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <poll.h>
#include <stdexcept>

namespace bench::verbs {

namespace {

// libibverbs takes a lock for each acknowledgement, so they are saved up.
constexpr unsigned kAcknowledgedAtOnce = 1024;

} // namespace

CompletionQueue::CompletionQueue(const Port& port, unsigned depth, Waiting waiting) {
    const auto most = static_cast<unsigned>(port.device().max_cqe);
    if (depth > most) {
        throw UsageError("a completion queue of " + std::to_string(depth) +
                         " entries is needed, but " + port.name() + " has at most " +
                         std::to_string(most) + ": ask for fewer messages in flight");
    }
    if (waiting == Waiting::Event) {
        channel_.reset(ibv_create_comp_channel(port.context()));
        if (channel_ == nullptr) {
            throw std::runtime_error(
                with_errno("ibv_create_comp_channel on " + port.name(), errno));
        }
    }
    queue_.reset(
        ibv_create_cq(port.context(), static_cast<int>(depth), nullptr, channel_.get(), 0));
    if (queue_ == nullptr) {
        throw std::runtime_error(with_errno("ibv_create_cq on " + port.name(), errno));
    }
}

CompletionQueue::~CompletionQueue() {
    if (unacknowledged_ != 0) {
        ibv_ack_cq_events(queue_.get(), unacknowledged_);
    }
}

void CompletionQueue::arm() {
    if (channel_ == nullptr) {
        return;
    }
    if (const int error = ibv_req_notify_cq(queue_.get(), 0); error != 0) {
        throw std::runtime_error(with_errno("ibv_req_notify_cq", error));
    }
}

void CompletionQueue::sleep(std::chrono::microseconds longest) {
    if (channel_ == nullptr) {
        return;
    }
    pollfd descriptor{channel_->fd, POLLIN, 0};
    constexpr long kMicro = 1'000'000;
    const timespec limit{longest.count() / kMicro, longest.count() % kMicro * 1000};
    if (::ppoll(&descriptor, 1, &limit, nullptr) != 1) {
        return; // its time is over, or a signal came: the caller looks what to do
    }
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel_.get(), &queue, &context) != 0) {
        throw std::runtime_error(with_errno("ibv_get_cq_event", errno));
    }
    if (++unacknowledged_ == kAcknowledgedAtOnce) {
        ibv_ack_cq_events(queue_.get(), unacknowledged_);
        unacknowledged_ = 0;
    }
}

void CompletionQueue::throw_broken() {
    throw std::runtime_error("ibv_poll_cq failed: the completion queue overran, or its device is "
                             "gone");
}

std::string describe(const ibv_wc& completion, const std::string& request) {
    std::array<char, 64> numbers{};
    (void)std::snprintf(numbers.data(), numbers.size(), " (status %d, vendor error 0x%x)",
                        static_cast<int>(completion.status), completion.vendor_err);
    return request + ": " + ibv_wc_status_str(completion.status) + numbers.data();
}

} // namespace bench::verbs
