// The randomised Hadamard transform: spreads what a lost packet would take over a whole block.
#pragma once

#include <cstddef>
#include <cstdint>

namespace allreduce_lab {

/// y = H D x / sqrt(n) for each block of `block` floats, a power of two that divides `count`; D are
/// signs that `seed` chooses, the same on all ranks. Linear, so the transform of a sum is the sum
/// of the transforms; it is orthogonal, so the inverse is D H y / sqrt(n).
void hadamard(float* data, std::size_t count, std::size_t block, std::uint64_t seed);
void inverse_hadamard(float* data, std::size_t count, std::size_t block, std::uint64_t seed);

} // namespace allreduce_lab
