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
    const float* given = nullptr; ///< the vectors of all ranks, where they are not made of the seed
    std::size_t count = 0;        ///< floats of each of these
};

/// Floats of a vector: `first` is the place of `data` in it.
struct Stretch {
    float* data;
    std::size_t count;
    std::size_t first = 0;
};

/// Mean square of an element.
constexpr double kEnergy = (1024.0 * 1024.0 - 1) / 12 + 0.25;

/// Sets the vector of that rank. Its elements are whole numbers that floats hold exactly, and so
/// are their sums over up to 255 ranks, in any order. Those of other ranks tell nothing of them.
void fill(const Stretch& part, Turn turn, int rank);
/// Sets it to the sum over so many ranks.
void fill_with_sum(const Stretch& part, Turn turn, int ranks);

/// What a sum is compared with what it must be.
struct Deviation {
    struct Wrong {
        std::size_t index; ///< in the vector; of the first element of a block
        double expected;
        double found;
        bool block = false; ///< both are errors of a block, as the root of the mean square
    };
    /// Parts of a sum that lack contributions of ranks: sums of squared errors.
    struct Lacking {
        double expected = 0.0;
        double found = 0.0;
        std::uint64_t count = 0;
    };
    std::optional<Wrong> wrong; ///< the first that is farther off than was allowed
    double error = 0.0;         ///< sum of the squared errors
    double energy = 0.0;        ///< sum of the squares of what was expected
    double peak = 0.0;          ///< largest error
    std::uint64_t exact = 0;    ///< floats that were compared with the one value that they may have
    Lacking lacking;
};

/// Compares a vector with what it must be. NaN is wrong at any tolerance.
Deviation compare(const float* found, const float* expected, std::size_t count, double tolerance);
/// The sum over `ranks` ranks with what it must be.
Deviation compare(const Stretch& part, Turn turn, int ranks, double tolerance);
/// The vector of that rank, which nothing may have changed.
Deviation compare_own(const Stretch& part, Turn turn, int rank);

/// That of two parts of a vector.
void add(Deviation& total, const Deviation& part);

} // namespace allreduce_lab
