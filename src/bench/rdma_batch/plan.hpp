// How a batch is laid out: places in the buffers, and shares of the queue pairs.
#pragma once

#include "rdma_batch/options.hpp"

#include <cstdint>
#include <vector>

namespace rdma_batch {

/// Places in a buffer, one byte apart: transfers of neighbours can't be merged, and the byte
/// between them shows whether one was longer than it should be. As in MORI-IO.
struct Layout {
    std::uint64_t size = 0;  ///< bytes of a transfer
    std::uint64_t slots = 0; ///< places

    [[nodiscard]] std::uint64_t stride() const { return size + 1; }
    [[nodiscard]] std::uint64_t bytes() const { return stride() * slots; }
    [[nodiscard]] std::uint64_t offset(std::uint64_t transfer) const {
        return transfer % slots * stride();
    }
};

/// The layout of a shape in at most `most_memory` bytes: as many places as transfers, or as many
/// as there is room for. Throws bench::UsageError if there is not even room for one.
Layout lay_out(Shape shape, std::uint64_t most_memory);

/// Bytes of the buffer that every shape fits into.
std::uint64_t buffer_bytes(const std::vector<Shape>& shapes, std::uint64_t most_memory);

/// Neighbouring transfers that one queue pair does.
struct Share {
    std::uint64_t first;
    std::uint64_t count;
};

/// The shares of all queue pairs, which differ by one transfer at most; some may be empty.
std::vector<Share> split(std::uint64_t batch, unsigned queue_pairs);

/// Transfers of the chain that begins at `position` of a share of `count`: what the option allows,
/// no more than the queue holds, and what is left at the end.
std::uint64_t chain_length(std::uint64_t position, std::uint64_t count, unsigned chain,
                           unsigned queue_depth);

} // namespace rdma_batch
