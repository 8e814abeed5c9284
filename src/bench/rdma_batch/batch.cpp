#include "rdma_batch/batch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace rdma_batch {

namespace {

constexpr int kCompletions = 64;
constexpr unsigned kInline = IBV_SEND_INLINE;
constexpr unsigned kSignaled = IBV_SEND_SIGNALED;
constexpr unsigned kLaneShift = 32;
constexpr std::uint64_t kLengthMask = 0xFFFFFFFFU;
// Empty polls between two looks at the clock: some ten microseconds.
constexpr std::uint64_t kPollsBetweenLooks = 1024;
constexpr auto kLongestSleep = std::chrono::milliseconds(500);

} // namespace

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::string local_memory_name() {
    return "memory of the initiator";
}
std::string remote_memory_name() {
    return "memory of the target";
}
std::string queue_pairs_name(unsigned worker) {
    return "queue pairs of worker " + std::to_string(worker);
}

Worker::Worker(const PostingMode& mode, const Directory& directory, unsigned number,
               bench::verbs::CompletionQueue& queue, Patience patience)
    : mode_(mode), directory_(directory), local_name_(local_memory_name()),
      remote_name_(remote_memory_name()), pairs_name_(queue_pairs_name(number)), queue_(queue),
      patience_(std::move(patience)) {}

void Worker::prepare(const Layout& layout, const std::vector<Share>& shares) {
    layout_ = layout;
    lanes_.assign(shares.size(), {});
    for (std::size_t index = 0; index < shares.size(); ++index) {
        Lane& lane = lanes_[index];
        lane.share = shares[index];
        lane.requests.assign(lane.share.count, ibv_send_wr{});
        lane.pieces.assign(lane.share.count, ibv_sge{});
        build(index, 0, lane.share.count);
    }
}

std::uint64_t Worker::chain_at(const Lane& lane, std::uint64_t position) const {
    return mode_.batch_transfer
               ? chain_length(position, lane.share.count, mode_.chain, mode_.queue_depth)
               : 1;
}

// Looks up what the requests need, and writes them: the transfers [begin, end) of a lane's share.
void Worker::build(std::size_t index, std::uint64_t begin, std::uint64_t end) {
    Lane& lane = lanes_[index];
    const Memory& local = directory_.memory.at(local_name_);
    const Memory& remote = directory_.memory.at(remote_name_);
    lane.pair = directory_.queue_pairs.at(pairs_name_)[index];
    const bool writes = mode_.operation == Operation::Write;
    const unsigned inlined = writes && layout_.size <= mode_.inline_bytes ? kInline : 0U;
    for (std::uint64_t position = begin; position < end;) {
        const std::uint64_t length = chain_at(lane, position);
        for (std::uint64_t last = position + length - 1; position <= last; ++position) {
            const std::uint64_t offset = layout_.offset(lane.share.first + position);
            ibv_sge& piece = lane.pieces[position];
            piece = {local.address + offset, static_cast<std::uint32_t>(layout_.size), local.key};
            ibv_send_wr& request = lane.requests[position];
            request.wr_id = index << kLaneShift | length;
            request.next = position == last ? nullptr : &lane.requests[position + 1];
            request.sg_list = &piece;
            request.num_sge = 1;
            request.opcode = writes ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
            request.send_flags = inlined | (position == last ? kSignaled : 0U);
            request.wr.rdma.remote_addr = remote.address + offset;
            request.wr.rdma.rkey = remote.key;
        }
    }
}

// Posts as long as the send queue has room for a whole chain.
void Worker::post(std::size_t index) {
    Lane& lane = lanes_[index];
    while (lane.posted < lane.share.count) {
        const std::uint64_t length = chain_at(lane, lane.posted);
        if (lane.posted - lane.completed + length > mode_.queue_depth) {
            return;
        }
        if (!mode_.session && !mode_.batch_transfer) {
            build(index, lane.posted, lane.posted + 1);
        }
        ibv_send_wr* refused = nullptr;
        if (const int error = ibv_post_send(lane.pair, &lane.requests[lane.posted], &refused);
            __builtin_expect(static_cast<long>(error != 0), 0) != 0) {
            throw std::runtime_error(bench::verbs::with_errno("ibv_post_send is refused", error));
        }
        lane.posted += length;
    }
}

// Takes the completions that there are; returns how many transfers they stand for.
std::uint64_t Worker::reap() {
    std::array<ibv_wc, kCompletions> completions; // NOLINT: written by the poll
    const int found = queue_.poll(completions.data(), kCompletions);
    std::uint64_t transfers = 0;
    for (int index = 0; index < found; ++index) {
        const ibv_wc& completion = completions[static_cast<std::size_t>(index)];
        if (__builtin_expect(static_cast<long>(completion.status != IBV_WC_SUCCESS), 0) != 0) {
            throw std::runtime_error(bench::verbs::describe(
                completion, std::string("an RDMA ") +
                                std::string(bench::word_of(kOperations, mode_.operation)) +
                                " failed"));
        }
        const std::uint64_t length = completion.wr_id & kLengthMask;
        lanes_[completion.wr_id >> kLaneShift].completed += length;
        transfers += length;
    }
    return transfers;
}

// Nothing has completed: sleep where the mode says so, and see whether to give up.
void Worker::wait() {
    const bool polling = queue_.waiting() == bench::verbs::Waiting::Polling;
    if (polling && ++idle_polls_ % kPollsBetweenLooks != 0) {
        return;
    }
    if (idle_since_ == 0.0) {
        idle_since_ = now();
    }
    if (!polling) {
        queue_.sleep(kLongestSleep);
    }
    if (const std::string why = patience_(now() - idle_since_); !why.empty()) {
        throw std::runtime_error(why);
    }
}

std::uint64_t Worker::run() {
    std::uint64_t open = 0;
    const bool rebuild = !mode_.session && mode_.batch_transfer;
    for (std::size_t index = 0; index < lanes_.size(); ++index) {
        Lane& lane = lanes_[index];
        lane.posted = lane.completed = 0;
        open += lane.share.count;
        if (rebuild) {
            build(index, 0, lane.share.count);
        }
        post(index);
    }
    const bool sleeps = queue_.waiting() == bench::verbs::Waiting::Event;
    std::uint64_t finished = 0;
    idle_since_ = 0.0;
    while (finished < open) {
        std::uint64_t done = reap();
        if (done == 0 && sleeps) {
            queue_.arm(); // first, or a completion that comes now would wake nobody
            done = reap();
        }
        if (done == 0) {
            wait();
            continue;
        }
        idle_since_ = 0.0;
        finished += done;
        for (std::size_t index = 0; index < lanes_.size(); ++index) {
            post(index);
        }
    }
    return finished * layout_.size;
}

} // namespace rdma_batch
