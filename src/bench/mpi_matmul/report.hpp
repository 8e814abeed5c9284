// What mpi_matmul tells: a line for each phase of each order, and the same as JSON.
#pragma once

#include "common/gpu/cublas.hpp"
#include "common/gpu/job.hpp"
#include "common/report.hpp"
#include "mpi_matmul/measure.hpp"

#include <utility>

namespace mpi_matmul {

/// The GPU of this rank, and what multiplies on it.
struct Gpu {
    explicit Gpu(bench::gpu::Device opened) : device(std::move(opened)) {}

    bench::gpu::Device device;
    bench::gpu::Cublas cublas;
};

/// The report of a run, its head printed. `crowded` as oversubscription tells it; it and the world
/// are known to rank 0 only. `gpu` is null where the host computes. Collective.
bench::Report begin_report(const bench::World& world, const Options& options,
                           const std::string& crowded, const Gpu* gpu);

/// Adds the phases of an order; nothing if it ended before the first repetition.
void add(bench::Report& report, const Result& result);

} // namespace mpi_matmul
