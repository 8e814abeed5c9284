// mpi_under_load: latency of MPI_Allreduce on an idle and on a loaded fabric, in one job. How each
// number is measured: docs/reference/programs/mpi_under_load.md.
#include "common/interrupt.hpp"
#include "common/world.hpp"
#include "mpi_under_load/congestor.hpp"
#include "mpi_under_load/measure.hpp"
#include "mpi_under_load/options.hpp"

namespace mpi_under_load {

namespace {

using namespace bench;

constexpr int kWidth = 16;
constexpr int kFewest = 4; ///< ranks: two that measure, two that load

bool measures(int rank) {
    return rank % 2 == 0;
}

// What is wrong with the ranks, which rank 0 alone can tell.
std::string refusal(const World& world) {
    if (world.size < kFewest || world.size % 2 != 0) {
        return "expected two ranks on each of two or more nodes, found " +
               std::to_string(world.size) + " in all";
    }
    for (std::size_t rank = 0; rank + 1 < world.host_of_rank.size(); rank += 2) {
        if (world.host_of_rank[rank] != world.host_of_rank[rank + 1]) {
            return "expected ranks " + std::to_string(rank) + " and " + std::to_string(rank + 1) +
                   " on one node, found them on " + world.host_of_rank[rank] + " and " +
                   world.host_of_rank[rank + 1] + ": place the ranks node by node";
        }
    }
    return {};
}

Report begin_report(const World& world, const Options& options) {
    Report report(table_stream(options.json), "mpi_under_load", "allreduce");
    report.fact("datatype", std::string("MPI_FLOAT"));
    add_facts(report, world);
    std::vector<Column> columns = {{"# Size", -10, "size"}, {"Iterations", 12, "iterations"}};
    for (const auto& [title, field] : {std::pair("Idle", "idle"), {"Loaded", "loaded"}}) {
        for (const char* const name : {"p50", "p99"}) {
            columns.push_back(
                {std::string(title) + " " + name + "(us)", kWidth, field, name, kToMicro});
        }
    }
    columns.push_back({"Ratio p50", kWidth, "ratio_p50"});
    columns.push_back({"Ratio p99", kWidth, "ratio_p99"});
    columns.push_back({"Load(MB/s)", kWidth, "load", {}, kToMega});
    if (options.validate) {
        columns.push_back({"Validation", 12, "valid"});
    }
    report.set_columns(std::move(columns));
    if (world.rank == 0) {
        print(report.stream(), "# mpi_under_load MPI Allreduce Latency, Idle and Loaded v%s\n",
              BENCH_VERSION);
        report.print_facts();
        report.print_titles();
    }
    return report;
}

double average(const std::vector<double>& values) {
    return sum(values) / static_cast<double>(values.size());
}

Row row_of(const Result& result) {
    const auto ratio = [&result](Percentile percentile) {
        return percentile_of_sorted(result.loaded, percentile) /
               percentile_of_sorted(result.idle, percentile);
    };
    return {{"size", result.size, "B"},
            {"iterations", static_cast<std::uint64_t>(result.idle.size()), "1"},
            {"warmup", result.warmup, "1"},
            {"idle", statistics_of(result.idle, average(result.idle)), "s"},
            {"loaded", statistics_of(result.loaded, average(result.loaded)), "s"},
            {"ratio_p50", ratio({50'000}), "1"},
            {"ratio_p99", ratio({99'000}), "1"},
            {"load", result.carried.bytes / result.carried.seconds, "B/s"},
            {"valid", value_of(result.valid)}};
}

// Until the last size, the first with wrong data, or a signal, which it returns.
int measure_sizes(const World& world, MPI_Comm measurers, const Options& options, Report& report) {
    for (const std::uint64_t size : options.sizes) {
        const Result result = measure(measurers, options, size);
        if (world.rank == 0) {
            report.add(row_of(result));
        }
        if (result.signal != 0 || !result.valid.value_or(true)) {
            return result.signal;
        }
    }
    return 0;
}

int run(World& world, int argc, char** argv) {
    Options options = parse_options(argc, argv);
    if (!begins(world, options, help_text(), refusal)) {
        return kSuccess;
    }

    MPI_Comm own = MPI_COMM_NULL;
    check(MPI_Comm_split(MPI_COMM_WORLD, measures(world.rank) ? 0 : 1, world.rank, &own),
          "MPI_Comm_split");
    Report report = begin_report(world, options);
    int signal = 0;
    if (measures(world.rank)) {
        signal = measure_sizes(world, own, options, report);
        if (world.rank == kMeasurer) {
            release_loaders();
        }
    } else {
        load_when_told(own);
    }
    check(MPI_Comm_free(&own), "MPI_Comm_free");
    return world.rank == 0
               ? report.end(options.json, table_of(options), options.sizes.size(), "sizes", signal)
               : kSuccess;
}

} // namespace

} // namespace mpi_under_load

int main(int argc, char** argv) {
    return bench::run_world("mpi_under_load", argc, argv,
                            "the buffers do not fit; choose smaller sizes", mpi_under_load::run);
}
