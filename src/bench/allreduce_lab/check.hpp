// Whether a sum that lacks some of what was sent is what it must be.
#pragma once

#include "allreduce_lab/vectors.hpp"
#include "allreduce_lab/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allreduce_lab {

/// What came of a bucket on a rank: of each piece of each shard, how many contributions it lacks.
struct Came {
    static constexpr std::uint8_t kMany = 7;      ///< or more
    static constexpr std::uint8_t kNothing = 255; ///< the piece itself never came

    [[nodiscard]] std::size_t pieces() const { return (shard + piece - 1) / piece; }
    [[nodiscard]] std::uint8_t& of(std::size_t whose, std::size_t number) {
        return lacks[whose * pieces() + number];
    }
    /// Of the float at that place of the vector on the wire.
    [[nodiscard]] std::uint8_t at(std::size_t place) const {
        return lacks[place / shard * pieces() + place % shard / piece];
    }

    std::size_t shard = 0; ///< floats
    std::size_t piece = 0; ///< floats
    std::vector<std::uint8_t> lacks;
};

/// The vectors that are compared, in the order of the wire.
struct Compared {
    const float* found;
    const float* expected;   ///< the sum of all contributions
    const float* substitute; ///< what stands for pieces that never came
    std::size_t elements;    ///< what follows is padding
    double energy;           ///< mean square of an element of a rank; 0: not known, and what lacks
                             ///< contributions is not looked at
    bool spread;             ///< by the transform, which rounds
};

/// Adds to `result` what is found: pieces that lack nothing, and those that never came, are exactly
/// what they must be, up to rounding; those that lack contributions of ranks are off by what these
/// make on average. Floats of the former count as exact.
void look_at(const Compared& vectors, int ranks, std::size_t block, const Wire& wire,
             const Came& came, Deviation& result);

} // namespace allreduce_lab
