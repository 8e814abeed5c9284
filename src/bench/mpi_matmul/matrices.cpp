#include "mpi_matmul/matrices.hpp"

namespace mpi_matmul {

std::uint64_t scramble(std::uint64_t state) {
    std::uint64_t mixed = state + 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
}

void fill(double* matrix, std::uint64_t count, Name name, std::uint64_t seed) {
    constexpr std::uint64_t kValues = 2 * kLargestElement + 1;
    const std::uint64_t start = scramble(scramble(seed) + static_cast<std::uint64_t>(name));
    for (std::uint64_t index = 0; index < count; ++index) {
        const auto value = static_cast<std::int64_t>(scramble(start + index) % kValues);
        matrix[index] = static_cast<double>(value - kLargestElement);
    }
}

} // namespace mpi_matmul
