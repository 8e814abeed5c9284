// What mpi_probe tells: OSU 7.x's table, a line for each size, and the same as JSON.
#pragma once

#include "common/gpu/job.hpp"
#include "common/report.hpp"
#include "mpi_probe/measure.hpp"

namespace mpi_probe {

/// The report of a run on that GPU, if on one, its head printed. What is told of the world is known
/// to rank 0 only. Collective.
bench::Report begin_report(const World& world, const Options& options,
                           const std::optional<bench::gpu::Device>& device);

bench::Row row_of(const Options& options, const SizeResult& result);

} // namespace mpi_probe
