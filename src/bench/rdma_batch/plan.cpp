#include "rdma_batch/plan.hpp"

#include <algorithm>

namespace rdma_batch {

Layout lay_out(Shape shape, std::uint64_t most_memory) {
    const std::uint64_t room = most_memory / (shape.size + 1);
    if (room == 0) {
        throw bench::UsageError("a transfer of " + std::to_string(shape.size) +
                                " bytes does not fit into the buffer of " +
                                std::to_string(most_memory) + " bytes: raise --max-mem");
    }
    return {shape.size, std::min(shape.batch, room)};
}

std::uint64_t buffer_bytes(const std::vector<Shape>& shapes, std::uint64_t most_memory) {
    std::uint64_t most = 0;
    for (const Shape& shape : shapes) {
        most = std::max(most, lay_out(shape, most_memory).bytes());
    }
    return most;
}

std::vector<Share> split(std::uint64_t batch, unsigned queue_pairs) {
    std::vector<Share> shares;
    std::uint64_t first = 0;
    for (unsigned index = 0; index < queue_pairs; ++index) {
        const std::uint64_t more = index < batch % queue_pairs ? 1 : 0;
        const std::uint64_t count = batch / queue_pairs + more;
        shares.push_back({first, count});
        first += count;
    }
    return shares;
}

std::uint64_t chain_length(std::uint64_t position, std::uint64_t count, unsigned chain,
                           unsigned queue_depth) {
    return std::min<std::uint64_t>({chain, queue_depth, count - position});
}

} // namespace rdma_batch
