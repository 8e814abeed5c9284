// What is printed and written when all streams have ended.
#pragma once

#include "common/world.hpp"
#include "rdma_stream/figures.hpp"

namespace rdma_stream {

/// Rank 0: prints the lines of the seed's program and the table, and writes the JSON. Returns the
/// exit code; `signal` is the one that ended the streams early, or 0.
int tell(const bench::World& world, Options& options, const std::vector<Stream>& streams,
         int signal);

} // namespace rdma_stream
