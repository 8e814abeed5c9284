#include "rdma_batch/worker_pool.hpp"

#include <numeric>

namespace rdma_batch {

WorkerPool::WorkerPool(const PostingMode& mode, Resources& resources, const Directory& directory,
                       const Patience& patience) {
    for (std::size_t index = 0; index < resources.queues(); ++index) {
        workers_.push_back(std::make_unique<Worker>(mode, directory, static_cast<unsigned>(index),
                                                    resources.queue(index), patience));
    }
    bytes_.assign(workers_.size(), 0);
    errors_.assign(workers_.size(), nullptr);
    for (std::size_t index = 1; index < workers_.size(); ++index) {
        threads_.emplace_back([this, index] { follow(index); });
    }
}

WorkerPool::~WorkerPool() {
    over_ = true;
    ++batch_;
    batch_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

void WorkerPool::prepare(Shape shape, const Layout& layout, unsigned queue_pairs) {
    const std::vector<Share> shares = split(shape.batch, queue_pairs);
    for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
        std::vector<Share> own;
        for (std::size_t pair = worker; pair < shares.size(); pair += workers_.size()) {
            own.push_back(shares[pair]);
        }
        workers_[worker]->prepare(layout, own);
    }
}

// A thread's life: waits (spinning a moment, then asleep) until a batch begins, and does its part.
void WorkerPool::follow(std::size_t index) {
    std::uint64_t seen = 0;
    while (true) {
        batch_.wait(seen);
        seen = batch_;
        if (over_) {
            return;
        }
        try {
            bytes_[index] = workers_[index]->run();
        } catch (...) {
            errors_[index] = std::current_exception();
        }
        ++done_;
        done_.notify_one();
    }
}

Sample WorkerPool::run() {
    const double start = now();
    done_ = 0;
    if (!threads_.empty()) {
        ++batch_;
        batch_.notify_all();
    }
    try {
        bytes_[0] = workers_[0]->run();
    } catch (...) {
        errors_[0] = std::current_exception();
    }
    for (std::size_t done = done_; done < threads_.size(); done = done_) {
        done_.wait(done);
    }
    const double end = now();
    for (const std::exception_ptr& error : errors_) {
        if (error) {
            std::rethrow_exception(error);
        }
    }
    return {end - start, std::accumulate(bytes_.begin(), bytes_.end(), std::uint64_t{0})};
}

} // namespace rdma_batch
