// The load: an incast whose receiver changes, and the words between those who measure and it.
// See docs/reference/programs/mpi_under_load.md, "Load".
#pragma once

#include <mpi.h>

#include <cstdint>

namespace mpi_under_load {

/// What the first rank that measures tells the first that loads.
enum class Command : int { Load, Rest, End };

/// Bytes that arrived under load, and how long it lasted.
struct Carried {
    double bytes = 0.0;
    double seconds = 0.0;
};

/// World ranks of the two that talk to each other, on one node.
constexpr int kMeasurer = 0;
constexpr int kLoader = 1;

/// For the measurer: begins the load, and returns when it flows.
void begin_load();
/// For the measurer: ends it, and returns what it carried once nothing is under way any more.
Carried end_load();
/// For the measurer: lets the ranks that load leave.
void release_loaders();

/// What the ranks that load do until they are released. Collective over `loaders`.
void load_when_told(MPI_Comm loaders);

} // namespace mpi_under_load
