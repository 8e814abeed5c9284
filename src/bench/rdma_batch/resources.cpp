#include "rdma_batch/resources.hpp"

#include "common/arguments.hpp"

#include <algorithm>

namespace rdma_batch {

namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

} // namespace

bench::verbs::PortOptions port_options(const Options& options, unsigned number) {
    bench::verbs::PortOptions port;
    port.port = options.port;
    port.which = number;
    if (!options.devices.empty()) {
        const std::string& name = options.devices[number];
        const std::size_t colon = name.find(':');
        port.device = name.substr(0, colon);
        if (colon != std::string::npos) {
            constexpr std::uint64_t kLastPort = 255;
            port.port = static_cast<unsigned>(
                bench::parse_count("--dev", name.substr(colon + 1), 1, kLastPort));
        }
    }
    port.gid_index = options.gid_index;
    port.mtu = options.mtu;
    port.service_level = options.service_level;
    port.traffic_class = options.traffic_class;
    return port;
}

std::string device_name(const Options& options, unsigned number) {
    const bench::verbs::Port port(port_options(options, number));
    return ibv_get_device_name(port.context()->device);
}

Resources::Resources(const Options& options, unsigned number, std::size_t bytes,
                     unsigned queue_pairs, unsigned queues)
    : port_(port_options(options, number)), domain_(port_.protection_domain()), bytes_(bytes),
      buffer_(bytes, 0, bench::PageBuffer::Touch::Later),
      region_(bench::verbs::register_memory(domain_, buffer_.data(), bytes, kAccess)),
      queue_depth_(std::min(options.queue_depth, static_cast<unsigned>(port_.device().max_qp_wr))) {
    for (unsigned index = 0; index < queues; ++index) {
        const unsigned shared = (queue_pairs + queues - 1) / queues;
        const auto most = static_cast<unsigned>(port_.device().max_cqe);
        // Too long a queue shortens those of the requests, so that completions never overrun it.
        queue_depth_ = std::max(1U, std::min(queue_depth_, most / shared));
        queues_.push_back(std::make_unique<bench::verbs::CompletionQueue>(
            port_, queue_depth_ * shared, options.poll));
    }
    const bench::verbs::QpRoom room{queue_depth_, 1, options.inline_bytes};
    for (unsigned index = 0; index < queue_pairs; ++index) {
        const bench::verbs::CompletionQueue& queue = *queues_[index % queues];
        pairs_.push_back(std::make_unique<bench::verbs::QueuePair>(
            port_, domain_, bench::verbs::QpType::Rc, queue, queue, room, kAccess));
    }
}

std::vector<ibv_qp*> Resources::pairs_of(std::size_t queue) const {
    std::vector<ibv_qp*> handles;
    for (std::size_t index = queue; index < pairs_.size(); index += queues_.size()) {
        handles.push_back(pairs_[index]->handle());
    }
    return handles;
}

Endpoint Resources::endpoint() const {
    Endpoint endpoint;
    endpoint.address = reinterpret_cast<std::uintptr_t>(buffer_.data());
    endpoint.key = region_->rkey;
    endpoint.bytes = bytes_;
    for (const auto& pair : pairs_) {
        endpoint.queue_pairs.push_back(bench::verbs::encode(pair->address()));
    }
    return endpoint;
}

void Resources::connect(const Endpoint& peer, std::optional<unsigned> most_reads) {
    if (peer.queue_pairs.size() != pairs_.size() || peer.bytes != bytes_) {
        throw PeerError("expected " + std::to_string(pairs_.size()) + " queue pairs and " +
                        std::to_string(bytes_) + " bytes of the other end, found " +
                        std::to_string(peer.queue_pairs.size()) + " and " +
                        std::to_string(peer.bytes));
    }
    for (std::size_t index = 0; index < pairs_.size(); ++index) {
        bench::verbs::Address address = bench::verbs::decode(peer.queue_pairs[index]);
        if (most_reads) {
            address.reads =
                static_cast<std::uint8_t>(std::min<unsigned>(address.reads, *most_reads));
        }
        pairs_[index]->connect(address);
    }
}

} // namespace rdma_batch
