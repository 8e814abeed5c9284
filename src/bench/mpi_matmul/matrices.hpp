// What is multiplied: small whole numbers, so that the product is exact in whatever order a BLAS
// adds.
#pragma once

#include <cstdint>

namespace mpi_matmul {

/// Elements are whole numbers from -64 to 64. With n up to kLargestOrder all sums of the product
/// and of its check, at most 64^2 n^2, are below 2^53, so that a double holds them exactly.
constexpr std::int64_t kLargestElement = 64;
constexpr std::uint64_t kLargestOrder = 1'000'000;

enum class Name : std::uint64_t { A = 1, B = 2 };

/// A pseudo-random number of 64 bits for a place in a sequence: SplitMix64 (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", OOPSLA 2014).
std::uint64_t scramble(std::uint64_t state);

/// Fills a matrix of so many elements, row by row; the same seed gives the same matrix on every
/// machine.
void fill(double* matrix, std::uint64_t count, Name name, std::uint64_t seed);

} // namespace mpi_matmul
