// Whether every node has the memory that the largest matrices need.
#pragma once

#include "common/world.hpp"
#include "mpi_matmul/options.hpp"

namespace mpi_matmul {

/// Asked before anything is allocated; collective. Throws bench::UsageError on every rank alike
/// where a node has less than its ranks need together.
void require_memory(const bench::World& world, const Options& options);

} // namespace mpi_matmul
