// What nccl_probe tells: a line for each size, and the same as JSON.
#pragma once

#include "common/gpu/device.hpp"
#include "common/report.hpp"
#include "nccl_probe/measure.hpp"

namespace nccl_probe {

/// The report of a run, its head printed; collective.
bench::Report begin_report(const bench::World& world, const Options& options,
                           const bench::gpu::Device& device, const Nccl& nccl);

bench::Row row_of(const Options& options, int ranks, const Result& result);

} // namespace nccl_probe
