#include "nccl_probe/report.hpp"

#include "common/gpu/job.hpp"

namespace nccl_probe {

namespace {

constexpr int kWidth = 16;

std::vector<bench::Column> columns_of(const Options& options) {
    std::vector<bench::Column> columns = {
        {"# Size", -12, "size"},
        {"Avg Time(us)", kWidth, "time", "avg", bench::kToMicro},
        {"P99(us)", kWidth, "time", "p99", bench::kToMicro},
        {"AlgBW(MB/s)", kWidth, "algorithm_bandwidth", {}, bench::kToMega},
        {"BusBW(MB/s)", kWidth, "bus_bandwidth", {}, bench::kToMega}};
    if (options.validate) {
        columns.push_back({"Validation", kWidth, "valid"});
    }
    return columns;
}

} // namespace

bench::Report begin_report(const bench::World& world, const Options& options,
                           const bench::gpu::Device& device, const Nccl& nccl) {
    const std::string name(options.collective->name);
    bench::Report report(bench::table_stream(options.json), "nccl_probe", name);
    add_facts(report, world);
    bench::gpu::add_facts(report, world, device);
    report.fact("nccl", nccl.version_text(), "NCCL");
    report.fact("nccl_shared_gpu", options.share_gpu);
    report.set_columns(columns_of(options));
    if (world.rank == 0) {
        const std::string scheme(scheme_name(options.scheme));
        bench::print(report.stream(), "# nccl_probe NCCL %s v%s\n# Scheme: %s\n", name.c_str(),
                     BENCH_VERSION, scheme.c_str());
        report.print_facts();
        if (options.share_gpu) {
            bench::print(report.stream(), "# Ranks may share a GPU: times say nothing about it\n");
        }
        report.print_titles();
    }
    return report;
}

bench::Row row_of(const Options& options, int ranks, const Result& result) {
    const double average =
        bench::sum(result.ascending) / static_cast<double>(result.ascending.size());
    const double median = bench::percentile_of_sorted(result.ascending, {50'000});
    const double rate = static_cast<double>(result.size) / median;
    return {{"size", result.size, "B"},
            {"iterations", std::uint64_t{result.ascending.size()}, "1"},
            {"warmup", result.warmup, "1"},
            {"time", bench::statistics_of(result.ascending, average), "s"},
            {"algorithm_bandwidth", rate, "B/s"},
            {"bus_bandwidth", rate * bus_factor(*options.collective, ranks), "B/s"},
            {"valid", bench::value_of(result.valid)}};
}

} // namespace nccl_probe
