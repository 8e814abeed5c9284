// allreduce, reduce, bcast, alltoall, allgather, reduce_scatter, gather, scatter, barrier.
// See docs/explanation/method.md, "Collectives".
#pragma once

#include <cstdint>

namespace mpi_probe {

struct Context;
struct SizeResult;

SizeResult run_allreduce(Context& context, std::uint64_t size);
SizeResult run_reduce(Context& context, std::uint64_t size);
SizeResult run_bcast(Context& context, std::uint64_t size);
SizeResult run_alltoall(Context& context, std::uint64_t size);
SizeResult run_allgather(Context& context, std::uint64_t size);
SizeResult run_reduce_scatter(Context& context, std::uint64_t size);
SizeResult run_gather(Context& context, std::uint64_t size);
SizeResult run_scatter(Context& context, std::uint64_t size);
SizeResult run_barrier(Context& context, std::uint64_t size);

} // namespace mpi_probe
