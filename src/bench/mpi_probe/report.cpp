#include "mpi_probe/report.hpp"

#include "common/copy_rate.hpp"

namespace mpi_probe {

namespace {

constexpr int kWidth = 18;
// Two decimals, as OSU prints; more where they would round what is slow to nothing.
constexpr int kDecimals = 2;
constexpr int kDecimalsBelowOne = 6;

bool is_latency(const Options& options) {
    return options.benchmark->metric == Metric::Latency;
}

const char* buffer_name(bench::gpu::Memory kind) {
    return kind == bench::gpu::Memory::Managed ? "managed" : "device";
}

const char* quantity(const Options& options) {
    return is_latency(options) ? "latency" : "bandwidth";
}

bench::Column value_column(const Options& options, std::string title, std::string statistic) {
    return {std::move(title),
            kWidth,
            quantity(options),
            std::move(statistic),
            is_latency(options) ? bench::kToMicro : bench::kToMega,
            kDecimals,
            kDecimalsBelowOne};
}

std::vector<bench::Column> columns_of(const Options& options) {
    const Benchmark& benchmark = *options.benchmark;
    const bool pairs = benchmark.metric == Metric::MessageRate;
    if (!benchmark.has_sizes) {
        const std::string title = "# Avg Latency(us)";
        bench::Column average = value_column(options, title, "avg");
        average.width = static_cast<int>(title.size());
        average.small = kDecimals;
        return {average};
    }
    std::vector<bench::Column> columns = {{"# Size", -10, "size"}};
    const char* const rate = pairs ? "MB/s" : "Bandwidth (MB/s)";
    columns.push_back(value_column(options, is_latency(options) ? "Avg Latency(us)" : rate, "avg"));
    if (pairs) {
        columns.push_back(
            {"Messages/s", kWidth, "message_rate", {}, 1, kDecimals, kDecimalsBelowOne});
    }
    return columns;
}

// Bytes a second that all ranks together copy at the most; on rank 0.
double copies_of_all() {
    const double mine = bench::copy_rate();
    double all = 0;
    bench::check(MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD), "MPI_Reduce");
    return all;
}

} // namespace

bench::Report begin_report(const World& world, const Options& options,
                           const std::optional<bench::gpu::Device>& device) {
    const Benchmark& benchmark = *options.benchmark;
    bench::Report report(bench::table_stream(options.json), "mpi_probe", benchmark.name);
    if (benchmark.has_sizes) {
        report.fact("datatype", std::string(type_name(options.type)));
    }
    add_facts(report, world);
    if (device) {
        bench::gpu::add_facts(report, world, *device);
    } else {
        report.fact("copy_rate", copies_of_all());
    }
    std::vector<bench::Column> columns = columns_of(options);
    if (options.full) {
        columns.push_back(value_column(options, "Min Latency(us)", "rank_min"));
        columns.push_back(value_column(options, "Max Latency(us)", "rank_max"));
        columns.push_back({"Iterations", 12, "iterations"});
    }
    if (options.validate) {
        columns.push_back({"Validation", kWidth, "valid"});
    }
    for (const unsigned percentile : options.percentiles) {
        const std::string name = std::to_string(percentile);
        const char* const tail = is_latency(options) ? " Tail Lat(us)" : " Tail BW(MB/s)";
        columns.push_back(value_column(options, "P" + name + tail, "p" + name));
    }
    report.set_columns(std::move(columns));
    if (world.rank == 0) {
        const bool pairs = benchmark.metric == Metric::MessageRate;
        bench::print(report.stream(), "%s# mpi_probe MPI %s v%s\n", pairs ? "" : "\n",
                     std::string(benchmark.title).c_str(), BENCH_VERSION);
        if (pairs) {
            bench::print(report.stream(), "# [ pairs: %d ] [ window size: %d ]\n", world.size / 2,
                         options.window);
        }
        if (benchmark.has_sizes) {
            bench::print(report.stream(), "# Datatype: %s.\n", type_name(options.type));
        }
        if (options.uses_gpu()) {
            bench::print(report.stream(), "# Buffer: %s, %s.\n", buffer_name(options.buffer),
                         options.path == Path::Staged ? "staged" : "aware");
        }
        report.print_facts();
        report.print_titles();
    }
    return report;
}

bench::Row row_of(const Options& options, const SizeResult& result) {
    bench::Statistics statistics =
        bench::statistics_of(result.ascending, result.average, options.percentiles);
    if (options.benchmark->collective) {
        statistics.emplace_back("rank_min", result.rank_minimum);
        statistics.emplace_back("rank_max", result.rank_maximum);
    }
    bench::Row row = {
        {"size", options.benchmark->has_sizes ? bench::Value(result.size) : bench::Value(), "B"},
        {"iterations", result.iterations, "1"},
        {"warmup", result.warmup, "1"},
        {quantity(options), std::move(statistics), is_latency(options) ? "s" : "B/s"}};
    if (options.benchmark->metric == Metric::MessageRate) {
        row.push_back({"message_rate", result.message_rate, "1/s"});
    }
    if (options.path == Path::Staged) {
        row.push_back({"copied_out", result.copied.out, "B"});
        row.push_back({"copied_in", result.copied.in, "B"});
    }
    row.push_back(
        {"tcp_segments", result.segments ? bench::Value(*result.segments) : bench::Value(), "1"});
    row.push_back({"valid", bench::value_of(result.valid)});
    return row;
}

} // namespace mpi_probe
