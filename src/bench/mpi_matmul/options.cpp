#include "mpi_matmul/options.hpp"

#include "mpi_matmul/matrices.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>

namespace mpi_matmul {

namespace {

using bench::UsageError;

constexpr std::uint64_t kMostRepetitions = 1'000'000;
constexpr std::uint64_t kLargestCount = std::numeric_limits<int>::max();
constexpr std::size_t kMostOrders = 100;
constexpr bench::Choices<Mode, 3> kModes = {{{"blocking", Mode::Blocking},
                                             {"nonblocking", Mode::Nonblocking},
                                             {"collective", Mode::Collective}}};

enum LongOnly : int { kJson = bench::kLongOnly, kTimeBudget, kInject, kSeed, kLargest };

void take_option(int letter, Options& options) {
    switch (letter) {
    case 'n':
        options.orders = bench::parse_counts("-n", optarg, 1, kLargestOrder, kMostOrders);
        break;
    case 'm':
        options.mode = bench::parse_choice("--mode", optarg, kModes);
        break;
    case 'i':
        options.repetitions = bench::parse_count("-i", optarg, 1, kMostRepetitions);
        break;
    case 'x':
        options.warmup = bench::parse_count("-x", optarg, 0, kMostRepetitions);
        break;
    case 'c':
        options.validate = true;
        break;
    case kInject:
        options.inject = true;
        break;
    case kSeed:
        options.seed =
            bench::parse_count("--seed", optarg, 0, std::numeric_limits<std::uint64_t>::max());
        break;
    case kLargest:
        options.largest_count = bench::parse_count("--largest-count", optarg, 1, kLargestCount);
        break;
    case kJson:
        options.json = optarg;
        break;
    case kTimeBudget:
        options.time_budget = bench::parse_seconds("--time-budget", optarg);
        break;
    default:
        throw std::logic_error("an option is declared but not handled");
    }
}

void check_combination(const Options& options) {
    const auto& orders = options.orders;
    if (std::adjacent_find(orders.begin(), orders.end(), std::greater_equal<>()) != orders.end()) {
        throw UsageError("option -n: the orders must rise, each once");
    }
    if (options.inject && !options.validate) {
        throw UsageError("option --inject needs --validate, which is what it tests");
    }
    if (options.time_budget && options.warmup == 0) {
        throw UsageError("option --time-budget needs a warm-up (-x 1), whose time tells how many "
                         "repetitions fit");
    }
}

} // namespace

std::string_view mode_name(Mode mode) {
    return kModes[static_cast<std::size_t>(mode)].first;
}

Options parse_options(int argc, char** argv) {
    static const std::array<option, 13> kLongOptions = {{
        {"size", required_argument, nullptr, 'n'},
        {"mode", required_argument, nullptr, 'm'},
        {"repetitions", required_argument, nullptr, 'i'},
        {"warmup", required_argument, nullptr, 'x'},
        {"validate", no_argument, nullptr, 'c'},
        {"inject", no_argument, nullptr, kInject},
        {"seed", required_argument, nullptr, kSeed},
        {"largest-count", required_argument, nullptr, kLargest},
        {"json", required_argument, nullptr, kJson},
        {"time-budget", required_argument, nullptr, kTimeBudget},
        {"help", no_argument, nullptr, 'h'},
        {"version", no_argument, nullptr, 'v'},
        {nullptr, 0, nullptr, 0},
    }};
    Options options;
    options.action =
        bench::read_options("mpi_matmul", argc, argv, ":n:m:i:x:chv", kLongOptions.data(),
                            [&](int letter) { take_option(letter, options); });
    if (options.action != bench::Action::Run) {
        return options;
    }
    if (optind < argc) {
        throw UsageError("\"" + std::string(argv[optind]) +
                         "\" is one word too many: several orders are one word, -n 2000,4000");
    }
    check_combination(options);
    return options;
}

std::string help_text() {
    return "Usage: mpirun -n RANKS mpi_matmul [options]\n"
           "\n"
           "Multiplies two N x N matrices of doubles on all ranks, and times each phase: rank 0\n"
           "sends every rank its rows of A, broadcasts B, all ranks multiply (BLAS, one thread "
           "each),\n"
           "and rank 0 collects the rows of C.\n"
           "\n"
           "Options\n"
           "  -n, --size N[,N...]        orders of the matrices, rising (2000,4000,6000,8000,"
           "10000)\n"
           "  -m, --mode MODE            blocking (MPI_Send, MPI_Recv, MPI_Bcast), nonblocking\n"
           "                             (MPI_Isend, MPI_Irecv, MPI_Ibcast) or collective "
           "(MPI_Scatterv,\n"
           "                             MPI_Bcast, MPI_Gatherv) (blocking)\n"
           "  -i, --repetitions R        timed repetitions of each order (10)\n"
           "  -x, --warmup R             repetitions before them (1)\n"
           "  -c, --validate             check each product (Freivalds), outside the timed part\n"
           "      --inject               falsify one element of one product, to see --validate "
           "fail\n"
           "      --seed S               of the matrices and the check (1)\n"
           "      --time-budget SECONDS  at most about so long for each order: fewer repetitions "
           "than\n"
           "                             -i, but five, where the warm-up shows that they would not "
           "fit\n"
           "      --largest-count COUNT  count rows instead of elements in MPI calls where a "
           "matrix "
           "has\n"
           "                             more elements than this, and call MPI_Ibcast for each so "
           "many\n"
           "                             bytes (2147483647, the most that MPI counts)\n"
           "      --json FILE|-          write the results as JSON; with - the table goes to\n"
           "                             standard error\n"
           "  -h, --help                 this text\n"
           "  -v, --version              the version\n"
           "\n"
           "Exit codes: 0 all orders measured; 1 a wrong product, an MPI error, or the JSON file "
           "could\n"
           "not be written; 2 bad options, or a node has too little memory; 130 and 143 ended "
           "early "
           "by\n"
           "SIGINT or SIGTERM: what was measured is printed and marked.\n"
           "\n"
           "Examples\n"
           "  mpirun -n 8 mpi_matmul -n 2000,4000 --mode nonblocking\n"
           "  mpirun -n 4 mpi_matmul -n 960 -c -i 20 --json phases.json\n"
           "  mpirun -n 1 mpi_matmul -n 2000             # the BLAS alone\n"
           "  mpirun -n 2 mpi_matmul -n 240 -c --inject  # must exit with code 1\n";
}

} // namespace mpi_matmul
