#include "common/interrupt.hpp"
#include "common/json.hpp"
#include "common/statistics.hpp"
#include "mpi_probe/report.hpp"

#include <array>
#include <utility>

namespace mpi_probe {

namespace {

void write_result(bench::JsonWriter& json, const Benchmark& benchmark, const SizeResult& result) {
    static constexpr std::array<std::pair<const char*, bench::Percentile>, 5> kPercentiles = {{
        {"p50", {50'000}},
        {"p90", {90'000}},
        {"p95", {95'000}},
        {"p99", {99'000}},
        {"p99.9", {99'900}},
    }};
    json.begin_object();
    json.key("size");
    if (benchmark.has_sizes) {
        json.value(result.size);
    } else {
        json.null();
    }
    json.member("iterations", result.iterations);
    json.member("warmup", result.warmup);
    json.member("samples", static_cast<std::uint64_t>(result.ascending.size()));
    json.member("avg", result.average);
    json.member("min", result.ascending.front());
    json.member("max", result.ascending.back());
    for (const auto& [name, percentile] : kPercentiles) {
        json.member(name, bench::percentile_of_sorted(result.ascending, percentile));
    }
    if (benchmark.collective) {
        json.member("rank_avg_min", result.rank_minimum);
        json.member("rank_avg_max", result.rank_maximum);
    }
    if (benchmark.metric == Metric::MessageRate) {
        json.member("message_rate", result.message_rate);
    }
    json.member("valid", result.valid);
    json.end_object();
}

} // namespace

std::string json_document(const World& world, const Options& options,
                          const std::vector<SizeResult>& results, bool complete, int signal) {
    const Benchmark& benchmark = *options.benchmark;
    bench::JsonWriter json;
    json.begin_object();
    json.member("program", "mpi_probe");
    json.member("version", MPI_PROBE_VERSION);
    json.member("benchmark", benchmark.name);
    json.member("unit", benchmark.metric == Metric::Latency ? "us" : "MB/s");
    json.key("datatype");
    if (benchmark.has_sizes) {
        json.value(type_name(options.type));
    } else {
        json.null();
    }
    json.member("ranks", static_cast<std::uint64_t>(world.size));
    json.member("hosts", world.hosts);
    json.member("mpi", world.library);
    json.member("clock_overhead_ns", world.clock_overhead_ns);
    Options told = options;
    table_of(told).write(json);
    json.key("results");
    json.begin_array();
    for (const SizeResult& result : results) {
        write_result(json, benchmark, result);
    }
    json.end_array();
    bench::write_end(json, signal, complete);
    json.end_object();
    return json.text();
}

} // namespace mpi_probe
