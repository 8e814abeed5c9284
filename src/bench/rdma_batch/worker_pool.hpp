// The worker threads of one process. The first worker is the caller's own thread.
#pragma once

#include "rdma_batch/accounting.hpp"
#include "rdma_batch/batch.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace rdma_batch {

class WorkerPool {
  public:
    /// One worker for each completion queue of the resources, which outlive the pool.
    WorkerPool(const PostingMode& mode, Resources& resources, const Directory& directory,
               const Patience& patience);
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    /// Prepares all workers for a row; no batch is under way.
    void prepare(Shape shape, const Layout& layout, unsigned queue_pairs);

    /// One batch: from before the first worker is woken to after the last one is done. Throws what
    /// a worker threw.
    Sample run();

  private:
    void follow(std::size_t index);

    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::uint64_t> bytes_; ///< of the last batch, of each worker
    std::vector<std::exception_ptr> errors_;
    std::atomic<std::uint64_t> batch_{0}; ///< counts up when one begins
    std::atomic<std::size_t> done_{0};
    std::atomic<bool> over_{false};
    std::vector<std::thread> threads_;
};

} // namespace rdma_batch
