// The GPUs of an MPI job: one for each rank, and whether its MPI can reach their memory.
#pragma once

#include "common/gpu/device.hpp"
#include "common/gpu/memory.hpp"
#include "common/world.hpp"

#include <optional>

namespace bench::gpu {

/// Takes a GPU for each rank, by its number or else by its rank among those of its node. Throws
/// UsageError on all ranks if one of them gets none, or if it has no memory of that kind.
/// Collective.
Device open_for_rank(const World& world, std::optional<unsigned> number, Memory kind);

/// Tells the GPUs of all ranks, and whether the MPI says of itself that it is CUDA-aware;
/// collective.
void add_facts(Report& report, const World& world, const Device& device);

/// Sends one byte of that kind of memory through all ranks, 0 to 1 to 2 and back to 0, and ends the
/// program with exit code 1 and one sentence if the MPI reads or writes it from the host, changes
/// it, or hangs. From then on, an MPI that touches device memory from the host in `benchmark` ends
/// the program so, too. Collective; before watch_interrupts.
void require_aware_mpi(const World& world, const char* program, const std::string& benchmark,
                       Memory kind);

} // namespace bench::gpu
