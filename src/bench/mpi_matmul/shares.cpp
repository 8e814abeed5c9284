#include "mpi_matmul/shares.hpp"

#include <algorithm>

namespace mpi_matmul {

std::vector<Share> shares(std::uint64_t n, int ranks) {
    const auto count = static_cast<std::uint64_t>(ranks);
    std::vector<Share> result;
    result.reserve(count);
    std::uint64_t first = 0;
    for (std::uint64_t rank = 0; rank < count; ++rank) {
        const std::uint64_t rows = n / count + (rank < n % count ? 1 : 0);
        result.push_back({first, rows});
        first += rows;
    }
    return result;
}

Counting counting(std::uint64_t n, std::uint64_t largest) {
    const bool in_rows = n * n > largest;
    return {in_rows, in_rows ? n : 1};
}

std::vector<Share> pieces(std::uint64_t n, std::uint64_t largest_bytes) {
    const std::uint64_t rows = std::max<std::uint64_t>(1, largest_bytes / matrix_bytes(1, n));
    std::vector<Share> result;
    for (std::uint64_t first = 0; first < n; first += rows) {
        result.push_back({first, std::min(rows, n - first)});
    }
    return result;
}

std::uint64_t matrix_bytes(std::uint64_t rows, std::uint64_t n) {
    return rows * n * sizeof(double);
}

std::uint64_t transferred_bytes(const std::vector<Share>& shares, std::uint64_t n) {
    return matrix_bytes(n - shares.front().rows, n);
}

std::uint64_t broadcast_bytes(std::uint64_t n, int ranks) {
    return matrix_bytes(n, n) * static_cast<std::uint64_t>(ranks - 1);
}

std::uint64_t copied_in_bytes(std::uint64_t n, int ranks) {
    return matrix_bytes(n, n) * (static_cast<std::uint64_t>(ranks) + 1);
}

double operations(std::uint64_t n) {
    const auto order = static_cast<double>(n);
    return 2.0 * order * order * order;
}

} // namespace mpi_matmul
