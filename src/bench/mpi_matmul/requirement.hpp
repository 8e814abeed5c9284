// Whether every node has the memory that the largest matrices need.
#pragma once

#include "common/gpu/device.hpp"
#include "common/world.hpp"
#include "mpi_matmul/options.hpp"

namespace mpi_matmul {

/// Asked before anything is allocated; collective. Throws bench::UsageError on every rank alike
/// where a node has less than its ranks need together.
void require_memory(const bench::World& world, const Options& options);

/// The same of the GPUs, whose contexts are there already; collective.
void require_gpu_memory(const bench::World& world, const Options& options,
                        const bench::gpu::Device& device);

/// On rank 0 "32 ranks on 2 CPUs of node1" for the first node where ranks outnumber the CPUs that
/// they may run on; else empty. Then phases hold the time in which others had the CPU. Collective.
std::string oversubscription(const bench::World& world);

} // namespace mpi_matmul
