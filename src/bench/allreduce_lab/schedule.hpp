// Who sends what to whom, and when, in a transpose allreduce.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace allreduce_lab {

/// The shard that a rank sums: with each bucket the next one, so that a rank that loses much does
/// not always harm the same part.
constexpr std::size_t shard_of(std::size_t rank, std::uint64_t bucket, std::size_t ranks) {
    return (rank + bucket) % ranks;
}

/// Floats of a shard: those of the bucket, filled up to whole blocks, over the ranks.
constexpr std::size_t shard_floats(std::size_t elements, std::size_t ranks, std::size_t block) {
    const std::size_t filled = (elements + block - 1) / block * block;
    return (filled + ranks - 1) / ranks;
}

/// A packet of a stage: its receiver, counted from the sender's next rank, and its piece.
struct Sending {
    std::uint64_t peer;
    std::uint64_t piece;
};

/// The packet of that index of a stage in which each of `peers` gets `pieces`, `group` of them at
/// once: their pieces take turns.
constexpr Sending sending(std::uint64_t index, std::uint64_t peers, std::uint64_t pieces,
                          std::uint64_t group) {
    group = std::min(group, peers);
    const std::uint64_t round = index / (group * pieces);
    const std::uint64_t members = std::min(group, peers - round * group);
    const std::uint64_t within = index - round * group * pieces;
    return {round * group + within % members, within / members};
}

} // namespace allreduce_lab
