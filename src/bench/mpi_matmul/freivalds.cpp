#include "mpi_matmul/freivalds.hpp"

#include "mpi_matmul/matrices.hpp"

#include <algorithm>
#include <cmath>

namespace mpi_matmul {

Freivalds::Freivalds(std::uint64_t n, std::uint64_t seed) : n_(n), state_(seed), x_(n), bx_(n) {}

std::optional<std::uint64_t> Freivalds::wrong_row(const double* a, const double* b,
                                                  const double* c) {
    draw();
    for (std::uint64_t row = 0; row < n_; ++row) {
        bx_[row] = times(&b[row * n_], x_);
    }
    for (std::uint64_t row = 0; row < n_; ++row) {
        const Triple expected = times(&a[row * n_], bx_);
        const Triple found = times(&c[row * n_], x_);
        if (!is_exact(&c[row * n_]) || expected != found) {
            return row;
        }
    }
    return std::nullopt;
}

std::uint64_t Freivalds::bytes(std::uint64_t n) {
    return 2 * n * sizeof(Triple);
}

void Freivalds::draw() {
    for (Triple& signs : x_) {
        std::uint64_t bits = scramble(state_++);
        for (double& sign : signs) {
            sign = (bits & 1U) != 0 ? 1.0 : -1.0;
            bits >>= 1U;
        }
    }
}

bool Freivalds::is_exact(const double* row) const {
    constexpr auto kLargestProduct = static_cast<double>(kLargestElement * kLargestElement);
    const double limit = kLargestProduct * static_cast<double>(n_);
    return std::all_of(row, row + n_, [limit](double value) {
        // A NaN is not within the limit either.
        return std::fabs(value) <= limit &&
               static_cast<double>(static_cast<std::int64_t>(value)) == value;
    });
}

Freivalds::Triple Freivalds::times(const double* row, const std::vector<Triple>& vectors) const {
    Triple sums{};
    for (std::uint64_t column = 0; column < n_; ++column) {
        for (std::size_t vector = 0; vector < kVectors; ++vector) {
            sums[vector] += row[column] * vectors[column][vector];
        }
    }
    return sums;
}

} // namespace mpi_matmul
