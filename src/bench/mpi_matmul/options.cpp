#include "mpi_matmul/options.hpp"

#include "mpi_matmul/matrices.hpp"

#include <algorithm>
#include <functional>

namespace mpi_matmul {

namespace {

using bench::UsageError;

constexpr std::uint64_t kMostRepetitions = 1'000'000;
constexpr std::uint64_t kLargestCount = std::numeric_limits<int>::max();
constexpr std::size_t kMostOrders = 100;
constexpr bench::Choices<Mode, 3> kModes = {{{"blocking", Mode::Blocking},
                                             {"nonblocking", Mode::Nonblocking},
                                             {"collective", Mode::Collective}}};

constexpr bench::Choices<Compute, 2> kComputes = {{{"cpu", Compute::Cpu}, {"gpu", Compute::Gpu}}};
constexpr bench::Choices<Path, 2> kPaths = {{{"aware", Path::Aware}, {"staged", Path::Staged}}};

void check_combination(const Options& options, const bench::OptionTable& table) {
    for (const char* const option : {"path", "gpu"}) {
        if (table.given(option) && options.compute == Compute::Cpu) {
            throw UsageError(std::string("option --") + option + " needs --compute gpu");
        }
    }
    const auto& orders = options.orders;
    if (std::adjacent_find(orders.begin(), orders.end(), std::greater_equal<>()) != orders.end()) {
        throw UsageError("option -n: the orders must rise, each once");
    }
    check_common(options);
    if (options.time_budget && options.warmup == 0) {
        throw UsageError("option --time-budget needs a warm-up (-x 1), whose time tells how many "
                         "repetitions fit");
    }
}

} // namespace

std::string_view mode_name(Mode mode) {
    return kModes[static_cast<std::size_t>(mode)].first;
}

bench::OptionTable table_of(Options& options) {
    bench::OptionTable table("mpi_matmul");
    table.section("Options");
    table.value(
        "n,size=N[,N...]", "orders of the matrices, rising", "2000,4000,6000,8000,10000",
        [&options](const std::string& option, const std::string& text) {
            options.orders = bench::parse_counts(option, text, 1, kLargestOrder, kMostOrders);
        },
        [&options](bench::JsonWriter& json) { json.value(options.orders); });
    table.choice(
        "m,mode", options.mode, kModes,
        "MPI_Send, MPI_Recv, MPI_Bcast; MPI_Isend, MPI_Irecv, MPI_Ibcast; or MPI_Scatterv, "
        "MPI_Bcast, MPI_Gatherv");
    table.count("i,repetitions,iterations=R", options.repetitions, {1, kMostRepetitions},
                "timed repetitions of each order");
    table.count("x,warmup=R", options.warmup, {0, kMostRepetitions}, "repetitions before them");
    table.count("largest-count=COUNT", options.largest_count, {1, kLargestCount},
                "count rows instead of elements in MPI calls where a matrix has more elements than "
                "this, and call MPI_Ibcast for each so many bytes");
    table.section("Of GPUs");
    table.choice("compute", options.compute, kComputes, "what multiplies: the host, or its GPUs");
    table.choice("path", options.path, kPaths,
                 "give MPI the GPU's memory, or pinned host memory, with the copies as phases of "
                 "their own");
    table.count("gpu=N", options.gpu, {0, std::numeric_limits<int>::max()},
                "GPU of every rank (the rank on its node, modulo its GPUs)");
    add_common(table, options, "check each product (Freivalds), outside the timed part");
    return table;
}

Options parse_options(int argc, char** argv) {
    return bench::parse(table_of, argc, argv,
                        [](Options& options, const bench::OptionTable& table) {
                            table.refuse_words(": several orders are one word, -n 2000,4000");
                            check_combination(options, table);
                        });
}

std::string help_text() {
    Options defaults;
    return "Usage: mpirun -n RANKS mpi_matmul [options]\n"
           "\n"
           "Multiplies two N x N matrices of doubles on all ranks, and times each phase: rank 0\n"
           "sends every rank its rows of A, broadcasts B, all ranks multiply (BLAS, one thread "
           "each),\n"
           "and rank 0 collects the rows of C.\n"
           "\n"
           "" +
           table_of(defaults).help() +
           "\n"
           "Exit codes: 0 all orders measured; 1 a wrong product, an MPI error, an MPI that is not "
           "CUDA-aware,\n"
           "or the JSON file could not be written; 2 bad options, no GPU where one is asked for, "
           "or "
           "too\n"
           "little memory; 130 and 143 ended early by SIGINT or SIGTERM: what was measured is "
           "printed\n"
           "and marked.\n"
           "\n"
           "Examples\n"
           "  mpirun -n 8 mpi_matmul -n 2000,4000 --mode nonblocking\n"
           "  mpirun -n 4 mpi_matmul -n 960 -c -i 20 --json phases.json\n"
           "  mpirun -n 1 mpi_matmul -n 2000             # the BLAS alone\n"
           "  mpirun -n 2 mpi_matmul -n 8000 --compute gpu --path staged\n"
           "  mpirun -n 2 mpi_matmul -n 240 -c --inject-error  # must exit with code 1\n";
}

} // namespace mpi_matmul
