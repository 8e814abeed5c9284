#include "mpi_matmul/report.hpp"

#include "mpi_matmul/blas.hpp"
#include "mpi_matmul/shares.hpp"

#include <algorithm>

namespace mpi_matmul {

namespace {

constexpr int kWidth = 14;
constexpr int kFourDecimals = 4;

std::vector<bench::Column> columns_of(const Options& options) {
    std::vector<bench::Column> columns = {
        {"# N", -10, "order"}, {"Phase", -13, "phase"}, {"Repetitions", -12, "iterations"}};
    for (const auto& [title, statistic] : {std::pair("Min(us)", "min"),
                                           {"Avg(us)", "avg"},
                                           {"P50(us)", "p50"},
                                           {"P95(us)", "p95"},
                                           {"Max(us)", "max"}}) {
        columns.push_back({title, kWidth, "time", statistic, bench::kToMicro});
    }
    columns.push_back({"Variation", kWidth, "variation", {}, 1, kFourDecimals});
    columns.push_back({"Bytes", 16, "bytes"});
    columns.push_back({"GB/s", kWidth, "bandwidth", {}, bench::kToGiga, kFourDecimals});
    columns.push_back({"GFlop/s", kWidth, "flops", {}, bench::kToGiga, kFourDecimals});
    if (options.validate) {
        columns.push_back({"Validation", 12, "valid"});
    }
    return columns;
}

// The sum of the phases over the total, median of the repetitions. What is missing to 1 was
// spent between phases: the slowest rank of one is not that of the next.
double phases_over_total(const Result& result) {
    std::vector<double> ascending;
    for (std::size_t each = 0; each < result.repetitions(); ++each) {
        double together = 0.0;
        for (std::size_t phase = 0; phase < kTotal; ++phase) {
            together += result.seconds[phase][each];
        }
        ascending.push_back(together / result.seconds[kTotal][each]);
    }
    std::sort(ascending.begin(), ascending.end());
    return bench::percentile_of_sorted(ascending, {50'000});
}

// The rates are those at the median.
bench::Row row_of(const Result& result, Phase phase) {
    std::vector<double> ascending = result.seconds[phase];
    std::sort(ascending.begin(), ascending.end());
    const double average = bench::sum(ascending) / static_cast<double>(ascending.size());
    const double median = bench::percentile_of_sorted(ascending, {50'000});
    const std::uint64_t bytes = result.bytes[phase];
    const bool computes = phase == kCompute || phase == kTotal;
    using bench::Value;
    return {
        {"order", result.n, "1"},
        {"phase", std::string(kPhaseNames[phase])},
        {"iterations", result.repetitions(), "1"},
        {"warmup", result.warmup, "1"},
        {"time", bench::statistics_of(ascending, average), "s"},
        {"variation", bench::coefficient_of_variation(ascending), "1"},
        {"bytes", bytes, "B"},
        {"bandwidth", bytes > 0 ? Value(static_cast<double>(bytes) / median) : Value(), "B/s"},
        {"flops", computes ? Value(operations(result.n) / median) : Value(), "flop/s"},
        {"phases_over_total", phase == kTotal ? Value(phases_over_total(result)) : Value(), "1"},
        {"valid", bench::value_of(result.valid)}};
}

} // namespace

bench::Report begin_report(const bench::World& world, const Options& options,
                           const std::string& crowded, const Gpu* gpu) {
    const std::string mode(mode_name(options.mode));
    bench::Report report(bench::table_stream(options.json), "mpi_matmul", mode);
    add_facts(report, world);
    report.fact("blas", gpu == nullptr ? blas_name() : gpu->cublas.name(), "BLAS");
    if (gpu != nullptr) {
        bench::gpu::add_facts(report, world, gpu->device);
    }
    if (!crowded.empty()) {
        report.fact("oversubscribed", crowded, "Oversubscribed");
    }
    report.set_columns(columns_of(options));
    if (world.rank == 0) {
        bench::print(report.stream(), "# mpi_matmul MPI Matrix Multiplication v%s\n# Mode: %s\n",
                     BENCH_VERSION, mode.c_str());
        if (gpu != nullptr) {
            bench::print(report.stream(), "# Compute: GPU, %s\n",
                         options.path == Path::Staged ? "staged" : "aware");
        }
        report.print_facts();
        report.print_titles();
    }
    return report;
}

void add(bench::Report& report, const Result& result) {
    const auto n = static_cast<unsigned long long>(result.n);
    if (result.ending == Result::Ending::Interrupted) {
        report.fail("N " + std::to_string(n) + " ended after " +
                    std::to_string(result.repetitions()) + " of " + std::to_string(result.asked) +
                    " repetitions");
    }
    if (result.repetitions() == 0) {
        return;
    }
    for (const Phase phase : result.phases) {
        report.add(row_of(result, phase));
    }
    constexpr double kPercent = 100.0;
    bench::print(report.stream(), "# Phases: %.1f %% of the total at N %llu\n",
                 kPercent * phases_over_total(result), n);
}

} // namespace mpi_matmul
