// The initiator's parent process: starts one process for each device, collects, tells.
#pragma once

#include "rdma_batch/options.hpp"

namespace rdma_batch {

/// Runs the sweep and prints it; returns the exit code. Throws bench::UsageError or PeerError with
/// one sentence.
int run(Options& options);

} // namespace rdma_batch
