// The vectors that are summed, and what their sum must be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace allreduce_lab {

/// Which vector: of which sum, with which seed.
struct Turn {
    std::uint64_t seed;
    std::uint64_t iteration;
};

/// Sets the vector of that rank. Its elements are whole numbers that floats hold exactly, and so
/// are their sums over up to 255 ranks, in any order. Those of other ranks tell nothing of them.
void fill(float* data, std::size_t count, Turn turn, int rank);

/// What a sum is compared with what it must be.
struct Deviation {
    struct Wrong {
        std::size_t index;
        float expected;
        float found;
    };
    std::optional<Wrong> wrong; ///< the first that is farther off than was allowed
    double error = 0.0;         ///< sum of the squared errors
    double energy = 0.0;        ///< sum of the squares of what was expected
    double peak = 0.0;          ///< largest error
};

/// Compares the sum over `ranks` ranks with what it must be. NaN is wrong at any tolerance.
Deviation compare(const float* data, std::size_t count, Turn turn, int ranks, double tolerance);

} // namespace allreduce_lab
