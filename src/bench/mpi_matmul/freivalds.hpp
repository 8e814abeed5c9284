// Whether C is A times B, in O(n^2): Freivalds' check (R. Freivalds, "Probabilistic machines can
// use less running time", IFIP Congress 1977).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace mpi_matmul {

/// Compares A(Bx) with Cx for three random vectors x of -1 and 1. All numbers are whole and small
/// enough to be exact (matrices.hpp), so nothing differs by rounding; that C's are is looked at
/// too, as a sum would round away a wrong last bit.
///
/// If C is wrong, one such vector misses it with a probability of at most 1/2: in a wrong row C -
/// AB has an element d that is not 0, and for any choice of the other signs at most one of d and -d
/// makes the row's sum 0. Three independent vectors miss it with at most 1/8. A row with one wrong
/// element is always found, as its sum is then d or -d.
class Freivalds {
  public:
    static constexpr std::size_t kVectors = 3;

    Freivalds(std::uint64_t n, std::uint64_t seed);

    /// Draws new vectors, so that what they miss in one repetition is seen in another.
    /// Returns the first row of C found wrong, or nothing.
    std::optional<std::uint64_t> wrong_row(const double* a, const double* b, const double* c);

    /// Bytes that it needs beside the matrices.
    static std::uint64_t bytes(std::uint64_t n);

  private:
    using Triple = std::array<double, kVectors>;

    void draw();
    [[nodiscard]] bool is_exact(const double* row) const;
    [[nodiscard]] Triple times(const double* row, const std::vector<Triple>& vectors) const;

    std::uint64_t n_;
    std::uint64_t state_;
    std::vector<Triple> x_;
    std::vector<Triple> bx_;
};

} // namespace mpi_matmul
