// NCCL's collectives by name: what each moves, and how it is called.
#pragma once

#include "common/gpu/nccl.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace nccl_probe {

using bench::gpu::Nccl;

constexpr int kRoot = 0;

/// One operation on this rank: floats in device memory. `count` is that of a block.
struct Call {
    const Nccl& nccl;
    Nccl::Communicator communicator;
    Nccl::Stream stream;
    int ranks;
    const char* send;
    char* receive;
    std::size_t count;
};

/// Data lie in blocks: the whole of `size` bytes, or that divided by the ranks.
struct Collective {
    std::string_view name;      ///< as mpi_probe's
    std::string_view nccl_name; ///< in NCCL_ALGO; empty where no algorithm can be chosen
    bool sums;                  ///< else it only moves data
    bool divided;               ///< size is that of the blocks of all ranks together
    bool sends_all;             ///< a block for each rank is sent
    bool receives_all;          ///< and one received
    bool to_root;               ///< only rank 0 receives
    bool has_tree;
    int (*run)(const Call& call);
};

const std::vector<Collective>& all_collectives();

/// Floats of a block where `size` bytes are asked for, rounded down; may be 0.
std::size_t block_count(const Collective& collective, std::uint64_t size, int ranks);

/// Bytes that nccl-tests call the size of an operation with blocks of so many floats: those of its
/// larger buffer.
std::uint64_t size_of(const Collective& collective, std::size_t count, int ranks);

/// Bus bandwidth over algorithm bandwidth, as nccl-tests define it (doc/PERFORMANCE.md there): what
/// a perfect network of that bandwidth at each GPU would need. 2(n-1)/n for allreduce, (n-1)/n for
/// allgather, reduce_scatter and alltoall, 1 for reduce and bcast.
double bus_factor(const Collective& collective, int ranks);

} // namespace nccl_probe
