// latency, bw, bibw, mbw_mr. See docs/explanation/method.md, "Point-to-point".
#pragma once

#include <cstdint>

namespace mpi_probe {

struct Context;
struct SizeResult;

SizeResult run_latency(Context& context, std::uint64_t size);
SizeResult run_bw(Context& context, std::uint64_t size);
SizeResult run_bibw(Context& context, std::uint64_t size);
SizeResult run_mbw_mr(Context& context, std::uint64_t size);

} // namespace mpi_probe
