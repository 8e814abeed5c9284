// What one process holds on its device: buffer, memory region, completion queues, queue pairs.
#pragma once

#include "common/buffer.hpp"
#include "common/verbs/queue_pair.hpp"
#include "rdma_batch/options.hpp"
#include "rdma_batch/wire.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace rdma_batch {

/// The port that the options name for one of this end's devices.
bench::verbs::PortOptions port_options(const Options& options, unsigned number);

/// The name of the device that the options mean, which is opened for that if they don't name it.
std::string device_name(const Options& options, unsigned number);

class Resources {
  public:
    /// `queues` completion queues, which the queue pairs take in turns; a target has one, on which
    /// nothing ever completes. Throws bench::UsageError if the device refuses, std::bad_alloc if
    /// there is not so much memory.
    Resources(const Options& options, unsigned number, std::size_t bytes, unsigned queue_pairs,
              unsigned queues);

    [[nodiscard]] const bench::verbs::Port& port() const { return port_; }
    [[nodiscard]] std::byte* data() const { return reinterpret_cast<std::byte*>(buffer_.data()); }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] std::uint32_t local_key() const { return region_->lkey; }
    [[nodiscard]] unsigned queue_depth() const { return queue_depth_; }
    [[nodiscard]] unsigned reads_in_flight() const { return pairs_.front()->reads_out(); }
    /// Bytes, of the connections.
    [[nodiscard]] unsigned mtu() const { return pairs_.front()->mtu(); }
    [[nodiscard]] std::size_t queues() const { return queues_.size(); }
    bench::verbs::CompletionQueue& queue(std::size_t index) { return *queues_[index]; }
    [[nodiscard]] std::vector<ibv_qp*> pairs_of(std::size_t queue) const;

    /// What the other end must know.
    [[nodiscard]] Endpoint endpoint() const;

    /// Connects each queue pair with its peer. `most_reads` bounds the reads in flight. Throws
    /// PeerError if the other end has another number of them.
    void connect(const Endpoint& peer, std::optional<unsigned> most_reads);

  private:
    bench::verbs::Port port_;
    bench::verbs::ProtectionDomain domain_;
    std::size_t bytes_;
    bench::PageBuffer buffer_;
    bench::verbs::MemoryRegion region_;
    unsigned queue_depth_;
    std::vector<std::unique_ptr<bench::verbs::CompletionQueue>> queues_;
    std::vector<std::unique_ptr<bench::verbs::QueuePair>> pairs_;
};

} // namespace rdma_batch
