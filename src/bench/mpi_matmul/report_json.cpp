#include "common/interrupt.hpp"
#include "common/json.hpp"
#include "mpi_matmul/blas.hpp"
#include "mpi_matmul/report.hpp"

namespace mpi_matmul {

namespace {

void write_phase(bench::JsonWriter& json, const Result& result, Phase phase) {
    const Summary summary = summarise(result, phase);
    json.key(kPhaseNames[phase]);
    json.begin_object();
    json.member("min", summary.minimum);
    json.member("avg", summary.average);
    json.member("p50", summary.median);
    json.member("p95", summary.p95);
    json.member("max", summary.maximum);
    json.member("variation", summary.variation);
    json.member("bytes", result.bytes[phase]);
    json.member("gigabytes_per_s", summary.gigabytes);
    json.member("gigaflops", summary.gigaflops);
    json.end_object();
}

void write_result(bench::JsonWriter& json, const Result& result) {
    json.begin_object();
    json.member("size", result.n);
    json.member("iterations", result.repetitions());
    json.member("warmup", result.warmup);
    for (std::size_t index = 0; index < kPhases && result.repetitions() > 0; ++index) {
        write_phase(json, result, static_cast<Phase>(index));
    }
    json.member("phases_over_total",
                result.repetitions() > 0 ? std::optional(phases_over_total(result)) : std::nullopt);
    json.member("valid", result.valid);
    json.end_object();
}

} // namespace

std::string json_document(const bench::World& world, const Options& options,
                          const std::string& crowded, const std::vector<Result>& results,
                          int signal) {
    bench::JsonWriter json;
    json.begin_object();
    json.member("program", "mpi_matmul");
    json.member("version", MPI_MATMUL_VERSION);
    json.member("mode", mode_name(options.mode));
    json.member("unit", "us");
    json.member("ranks", static_cast<std::uint64_t>(world.size));
    json.member("hosts", world.hosts);
    json.member("mpi", world.library);
    json.member("blas", blas_name());
    json.member("clock_overhead_ns", world.clock_overhead_ns);
    json.member("oversubscribed", crowded.empty() ? std::nullopt : std::optional(crowded));
    Options told = options;
    table_of(told).write(json);
    json.key("results");
    json.begin_array();
    for (const Result& result : results) {
        write_result(json, result);
    }
    json.end_array();
    bench::write_end(json, signal, results.back().ending == Result::Ending::Complete);
    json.end_object();
    return json.text();
}

} // namespace mpi_matmul
