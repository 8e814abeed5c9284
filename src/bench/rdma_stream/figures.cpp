#include "rdma_stream/figures.hpp"

namespace rdma_stream {

void share_cpu(const Options& options, std::vector<Stream>& streams) {
    std::vector<std::uint64_t> messages(static_cast<std::size_t>(options.receivers), 0);
    for (const Stream& each : streams) {
        messages[static_cast<std::size_t>(each.receiver)] += each.received.messages;
    }
    for (Stream& each : streams) {
        const std::uint64_t all = messages[static_cast<std::size_t>(each.receiver)];
        each.cpu_share = all == 0
                             ? 0.0
                             : each.received.cpu * static_cast<double>(each.received.messages) /
                                   static_cast<double>(all);
    }
}

double bits_per_second(const Options& options, const Side& side) {
    constexpr double kBits = 8.0;
    const double bits = kBits * options.message_size * static_cast<double>(side.messages);
    return side.elapsed > 0.0 ? bits / side.elapsed : 0.0;
}

double loss_rate(const Stream& stream) {
    const auto total = static_cast<double>(stream.sent.numbers);
    return total > 0.0 ? static_cast<double>(stream.missed()) / total : 0.0;
}

double cpu_per_message(double cpu, std::uint64_t messages) {
    return messages != 0 ? cpu / static_cast<double>(messages) : 0.0;
}

} // namespace rdma_stream
