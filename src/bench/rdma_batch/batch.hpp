// One batch: posted, waited for, timed.
//
// Method. A worker has a completion queue of its own and the queue pairs that it shares with
// nobody. It posts chains of requests (or single ones) until each queue pair has as many requests
// out as its send queue holds, polls, and posts what has become free. Only the last request of a
// chain asks for a completion, as those of a queue pair complete in their order. All memory is
// taken before the batch; inside it nothing is allocated, printed or locked. With a session all
// requests are built before the first batch. Without one each call (a batch, or each single
// transfer) looks up the memory of both ends and the queue pairs by name and builds its
// requests, inside the timed part.
#pragma once

#include "rdma_batch/plan.hpp"
#include "rdma_batch/resources.hpp"

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace rdma_batch {

/// Memory at one end: where it begins, and the key to it.
struct Memory {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
};

/// What a call without session looks up by name.
struct Directory {
    std::unordered_map<std::string, Memory> memory;
    std::unordered_map<std::string, std::vector<ibv_qp*>> queue_pairs;
};

/// How a worker does its part of a batch.
struct PostingMode {
    Operation operation = Operation::Read;
    bool batch_transfer = false;
    bool session = false;
    unsigned chain = 1;
    unsigned queue_depth = 1;
    unsigned inline_bytes = 0;
};

/// Tells why to give up after so many seconds without any completion; empty to go on.
using Patience = std::function<std::string(double)>;

class Worker {
  public:
    /// `number` names it among the workers, and its queue pairs in the directory.
    Worker(const PostingMode& mode, const Directory& directory, unsigned number,
           bench::verbs::CompletionQueue& queue, Patience patience);

    /// Takes memory for its shares of a row, and builds the requests where there is a session.
    void prepare(const Layout& layout, const std::vector<Share>& shares);

    /// Does its part of one batch; returns the bytes whose completion it has seen. Throws
    /// std::runtime_error with one sentence if a request failed or nothing completes.
    std::uint64_t run();

  private:
    struct Lane {
        ibv_qp* pair = nullptr;
        Share share{0, 0};
        std::uint64_t posted = 0;
        std::uint64_t completed = 0;
        std::vector<ibv_send_wr> requests;
        std::vector<ibv_sge> pieces;
    };

    void build(std::size_t index, std::uint64_t begin, std::uint64_t end);
    [[nodiscard]] std::uint64_t chain_at(const Lane& lane, std::uint64_t position) const;
    void post(std::size_t index);
    std::uint64_t reap();
    void wait();

    PostingMode mode_;
    const Directory& directory_;
    std::string local_name_;
    std::string remote_name_;
    std::string pairs_name_;
    bench::verbs::CompletionQueue& queue_;
    Patience patience_;
    Layout layout_;
    std::vector<Lane> lanes_;
    std::uint64_t idle_polls_ = 0;
    double idle_since_ = 0.0;
};

/// Names under which the directory has the memory of both ends and a worker's queue pairs.
std::string local_memory_name();
std::string remote_memory_name();
std::string queue_pairs_name(unsigned worker);

/// Seconds of a clock that only goes forward.
double now();

} // namespace rdma_batch
