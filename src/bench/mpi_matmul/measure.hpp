// One order: warm-up, timed repetitions, check of the product.
#pragma once

#include "common/world.hpp"
#include "mpi_matmul/options.hpp"
#include "mpi_matmul/phases.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace mpi_matmul {

/// What one order gave. `ending` and `asked` are known to all ranks, the rest to rank 0 only.
struct Result {
    enum class Ending { Complete, Wrong, Interrupted };

    std::uint64_t n = 0;
    std::uint64_t asked = 0; ///< repetitions that were to be timed
    std::uint64_t warmup = 0;
    std::vector<Phase> phases; ///< that it had
    /// Of each phase, one value a repetition: seconds on the rank that took longest.
    std::array<std::vector<double>, kPhases> seconds;
    /// Moved in each repetition on all ranks together: between ranks, or to and from the GPUs.
    std::array<std::uint64_t, kPhases> bytes{};
    std::optional<bool> valid; ///< empty without --validate
    Ending ending = Ending::Complete;

    [[nodiscard]] std::uint64_t repetitions() const { return seconds[kTotal].size(); }
};

/// Measures one order; `cublas` is null where the host computes. Collective. Ends early where a
/// product is wrong, or where a signal came to any of the ranks.
Result measure(const bench::World& world, const Options& options, std::uint64_t n,
               const bench::gpu::Cublas* cublas);

/// However small the budget: fewer repetitions say nothing about a spread.
constexpr std::uint64_t kFewestRepetitions = 5;

/// Repetitions that fit into the budget after a warm-up of `each` seconds a repetition.
std::uint64_t fitting(const Options& options, double each);

} // namespace mpi_matmul
