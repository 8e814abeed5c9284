// The target's side: passive but for writing and comparing its buffer.
#pragma once

#include "rdma_batch/options.hpp"

namespace rdma_batch {

/// Serves one run and returns the exit code. Throws bench::UsageError or PeerError with one
/// sentence.
int serve(const Options& options);

} // namespace rdma_batch
