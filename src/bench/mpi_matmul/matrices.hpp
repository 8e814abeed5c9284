// What is multiplied: small whole numbers, so that the product is exact in whatever order a BLAS
// adds.
#pragma once

#include <cstdint>
#include <vector>

namespace mpi_matmul {

/// Elements are whole numbers from -64 to 64. With n up to kLargestOrder all sums of the product
/// and of its check, at most 64^2 n^2, are below 2^53, so that a double holds them exactly.
constexpr std::int64_t kLargestElement = 64;
constexpr std::uint64_t kLargestOrder = 1'000'000;

enum class Name : std::uint64_t { A = 1, B = 2 };

/// A pseudo-random number of 64 bits for a place in a sequence: SplitMix64 (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", OOPSLA 2014).
std::uint64_t scramble(std::uint64_t state);

/// Fills an n times n matrix, row by row; the same seed gives the same matrix on every machine.
void fill(std::vector<double>& matrix, Name name, std::uint64_t seed);

/// A value that no product has, so that what did not arrive is wrong: NaN.
void poison(double* values, std::uint64_t count);

} // namespace mpi_matmul
