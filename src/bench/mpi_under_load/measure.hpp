// One size of the allreduce: blocks of iterations, idle and loaded in turns.
// See docs/reference/programs/mpi_under_load.md, "Method".
#pragma once

#include "common/world.hpp"
#include "mpi_under_load/congestor.hpp"
#include "mpi_under_load/options.hpp"

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace mpi_under_load {

/// What one size gave; but for `valid` and `signal` it is known to rank 0 only.
struct Result {
    std::uint64_t size = 0;
    std::uint64_t warmup = 0;
    std::vector<double> idle;   ///< seconds of each iteration, ascending
    std::vector<double> loaded; ///< as many
    Carried carried;            ///< what the load carried meanwhile
    std::optional<bool> valid;  ///< empty without --validate
    int signal = 0;             ///< the one that ended it early
};

/// Collective over the ranks that measure.
Result measure(MPI_Comm measurers, const Options& options, std::uint64_t size);

} // namespace mpi_under_load
