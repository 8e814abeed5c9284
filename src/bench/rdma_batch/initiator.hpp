// The initiator's side of the measurement, in one process for each device.
#pragma once

#include "rdma_batch/options.hpp"
#include "rdma_batch/pipe.hpp"
#include "rdma_batch/shared_barrier.hpp"

namespace rdma_batch {

/// Measures all rows as initiator `rank` and tells them. Throws bench::UsageError, PeerError or
/// std::runtime_error with one sentence.
void initiate(const Options& options, unsigned rank, SharedBarrier& barrier,
              ResultWriter& messages);

} // namespace rdma_batch
