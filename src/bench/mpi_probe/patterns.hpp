// The data that --validate sends and expects. See docs/explanation/method.md, "Validation".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpi_probe {

enum class ElementType { Char, Int, Float };

std::size_t element_size(ElementType type);

/// Where a piece of the data comes from and goes to; each makes its own values.
struct Origin {
    int source;
    int destination;
    std::uint64_t iteration;
};

/// Mismatches of one check; the first is kept for the message.
struct Mismatch {
    std::uint64_t count = 0;
    std::size_t index = 0;
    double expected = 0.0;
    double found = 0.0;
};

/// Values 0..100 with the prime period 101: a shift by any power of two is a mismatch.
void fill_pattern(void* data, std::size_t count, ElementType type, const Origin& origin);

/// A value that no pattern holds, so that data which never arrived is a mismatch.
void fill_poison(void* data, std::size_t count, ElementType type);

/// Compares with fill_pattern's data; `first_index` is added to the index that is reported.
Mismatch check_pattern(const void* data, std::size_t count, ElementType type, const Origin& origin,
                       std::size_t first_index);

/// Changes one element, for --inject-error.
void corrupt_element(void* data, std::size_t index, ElementType type);

/// Adds `other` to `into`, keeping the first mismatch of the two.
void add_mismatches(Mismatch& into, const Mismatch& other);

/// Data of a sum over all ranks. Every partial sum is exact in every type (at most 127 for
/// MPI_CHAR, far below 2^24 for MPI_FLOAT), so the order of the additions cannot matter.
class SumPattern {
  public:
    SumPattern(ElementType type, int ranks);

    void fill(void* data, std::size_t count, int rank, std::uint64_t iteration) const;

    /// `data` holds the sums of elements first_element, first_element + 1, ...
    [[nodiscard]] Mismatch check(const void* data, std::size_t count, std::size_t first_element,
                                 std::uint64_t iteration) const;

    /// What `rank` adds to element `index`.
    [[nodiscard]] int contribution(std::size_t index, int rank, std::uint64_t iteration) const;

  private:
    ElementType type_;
    int ranks_;
    std::uint64_t every_;  ///< of every so many ranks one adds a value above zero, so that sums fit
    std::uint64_t values_; ///< different values above zero
    std::uint64_t period_; ///< of contribution() in index
};

} // namespace mpi_probe
