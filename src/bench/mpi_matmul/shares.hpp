// Which rows belong to which rank, and how many bytes each phase moves.
#pragma once

#include <cstdint>
#include <vector>

namespace mpi_matmul {

/// Consecutive rows of a matrix.
struct Share {
    std::uint64_t first;
    std::uint64_t rows;
};

/// The rows of each rank: n / ranks, and one more on the first n modulo ranks. Ranks beyond n have
/// none.
std::vector<Share> shares(std::uint64_t n, int ranks);

/// How the rows of a message are counted for MPI, whose counts are int: in elements where all of
/// the matrix can be counted so, else in whole rows.
struct Counting {
    bool in_rows;
    std::uint64_t unit; ///< elements that one count stands for: 1 or n

    [[nodiscard]] int of(std::uint64_t rows, std::uint64_t n) const {
        return static_cast<int>(rows * n / unit);
    }
};

/// `largest` is the largest count that MPI takes.
Counting counting(std::uint64_t n, std::uint64_t largest);

/// All rows of a matrix, in pieces of at most so many bytes, but of one row at least.
std::vector<Share> pieces(std::uint64_t n, std::uint64_t largest_bytes);

/// Bytes of a matrix of doubles with so many rows and n columns.
std::uint64_t matrix_bytes(std::uint64_t rows, std::uint64_t n);

/// Bytes that leave rank 0 in the transfer of A, and return to it in that of C: all rows but its
/// own.
std::uint64_t transferred_bytes(const std::vector<Share>& shares, std::uint64_t n);

/// Bytes that arrive in the broadcast of B, on all ranks together.
std::uint64_t broadcast_bytes(std::uint64_t n, int ranks);

/// Bytes that all ranks together copy to their GPUs in a staged path: their rows of A, and B each.
std::uint64_t copied_in_bytes(std::uint64_t n, int ranks);

/// Floating point operations of the product: n^3 multiplications and as many additions.
double operations(std::uint64_t n);

} // namespace mpi_matmul
