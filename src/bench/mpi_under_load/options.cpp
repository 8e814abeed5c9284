#include "mpi_under_load/options.hpp"

#include <algorithm>
#include <functional>

namespace mpi_under_load {

namespace {

using bench::UsageError;

constexpr std::uint64_t kMostIterations = 1'000'000;
constexpr std::uint64_t kLargest = 1ULL << 30U;
constexpr std::size_t kMostSizes = 32;

void check_sizes(const std::vector<std::uint64_t>& sizes) {
    if (std::adjacent_find(sizes.begin(), sizes.end(), std::greater_equal<>()) != sizes.end()) {
        throw UsageError("option -m: the sizes must rise, each once");
    }
    for (const std::uint64_t size : sizes) {
        if (size % sizeof(float) != 0) {
            throw UsageError("option -m: " + std::to_string(size) +
                             " bytes are no whole number of floats");
        }
    }
}

} // namespace

bench::OptionTable table_of(Options& options) {
    bench::OptionTable table("mpi_under_load");
    table.section("Options");
    table.value(
        "m,sizes=BYTES[,BYTES...]", "sizes of the allreduce, rising", "1024,65536,1048576,4194304",
        [&options](const std::string& option, const std::string& text) {
            options.sizes = bench::parse_counts(option, text, 1, kLargest, kMostSizes);
        },
        [&options](bench::JsonWriter& json) { json.value(options.sizes); });
    table.count("i,iterations=N", options.iterations, {1, kMostIterations},
                "timed iterations of each size, as many idle as loaded");
    table.count("x,warmup=N", options.warmup, {1, kMostIterations}, "iterations before them");
    add_common(table, options, "check the sums of each iteration, outside the timed part");
    return table;
}

Options parse_options(int argc, char** argv) {
    return bench::parse(table_of, argc, argv,
                        [](Options& options, const bench::OptionTable& table) {
                            table.refuse_words();
                            check_sizes(options.sizes);
                            check_common(options);
                        });
}

std::string help_text() {
    Options defaults;
    return "Usage: mpirun -n RANKS mpi_under_load [options]\n"
           "\n"
           "Latency of MPI_Allreduce on a fabric that is idle and, in turns, loaded by an incast\n"
           "whose receiver changes. Every node has two ranks: the even ones measure, the odd ones\n"
           "load.\n"
           "\n"
           "" +
           table_of(defaults).help() +
           "\n"
           "Exit codes: 0 all sizes measured; 1 wrong data, an MPI error, or the JSON file could "
           "not\n"
           "be written; 2 bad options or ranks; 130 and 143 ended early by SIGINT or SIGTERM: what "
           "was\n"
           "measured is printed and marked.\n"
           "\n"
           "Examples\n"
           "  mpirun -n 8 --map-by ppr:2:node mpi_under_load -c\n"
           "  mpirun -n 16 --map-by ppr:2:node mpi_under_load -m 1048576 -i 500 --json load.json\n";
}

} // namespace mpi_under_load
