// The benchmarks by name: what they are called, need and default to. Defaults are OSU 7.4's.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace mpi_probe {

struct Context;
struct SizeResult;

enum class RankRule { ExactlyTwo, Even, AtLeastTwo };
enum class Metric { Latency, Bandwidth, MessageRate };

struct Benchmark {
    std::string_view name;
    std::string_view title; ///< as in OSU's first line, after "MPI "
    Metric metric;
    RankRule ranks;
    bool collective;
    bool has_sizes;
    /// Measures one size; collective over all ranks. The result is complete on rank 0 only.
    SizeResult (*run)(Context& context, std::uint64_t size);
};

const std::vector<Benchmark>& all_benchmarks();

} // namespace mpi_probe
