#include "mpi_probe/options.hpp"

#include <array>
#include <climits>
#include <stdexcept>

namespace mpi_probe {

namespace {

using bench::UsageError;

constexpr std::uint64_t kLargeMessage = 8192;
constexpr std::uint64_t kLargestCollective = std::uint64_t{1} << 20;
constexpr std::uint64_t kLargestPointToPoint = std::uint64_t{1} << 22;
// MPI counts are int; a byte count above this cannot be sent as MPI_CHAR in one call.
constexpr std::uint64_t kLargestSize = INT_MAX;
constexpr std::size_t kMostPercentiles = 16;

constexpr bench::Choices<ElementType, 3> kTypes = {{{"mpi_char", ElementType::Char},
                                                    {"mpi_int", ElementType::Int},
                                                    {"mpi_float", ElementType::Float}}};

enum LongOnly : int { kJson = bench::kLongOnly, kTimeBudget, kInjectError };

std::string known_names() {
    std::string names;
    for (const Benchmark& benchmark : all_benchmarks()) {
        names += (names.empty() ? "" : ", ") + std::string(benchmark.name);
    }
    return names;
}

// What the user gave; applied over the benchmark's defaults once its name is known.
struct Given {
    std::optional<std::string> sizes;
    std::optional<std::uint64_t> iterations;
    std::optional<std::uint64_t> warmup;
    std::optional<std::uint64_t> window;
    bool type = false;
};

void apply_defaults(Options& options) {
    const Benchmark& benchmark = *options.benchmark;
    options.maximum_size = benchmark.collective ? kLargestCollective : kLargestPointToPoint;
    if (benchmark.metric == Metric::MessageRate) {
        // OSU's mbw_mr has no switch to fewer iterations above 8192 bytes.
        options.small = options.large = {100, 10};
    } else if (benchmark.metric == Metric::Bandwidth) {
        options.small = {100, 10};
        options.large = {20, 2};
    } else if (benchmark.collective) {
        options.small = {1000, 100};
        options.large = {100, 10};
    } else {
        options.small = {10000, 100};
        options.large = {1000, 10};
    }
}

void apply_given(Options& options, const Given& given) {
    if (given.sizes) {
        const auto range = bench::parse_size_range(
            "-m", *given.sizes, {options.minimum_size, options.maximum_size}, kLargestSize);
        options.minimum_size = range.minimum;
        options.maximum_size = range.maximum;
    }
    if (given.iterations) {
        options.small.iterations = options.large.iterations = *given.iterations;
    }
    if (given.warmup) {
        options.small.warmup = options.large.warmup = *given.warmup;
    }
    if (given.window) {
        options.window = static_cast<int>(*given.window);
    }
}

void refuse(const Options& options, bool given, const char* option, const char* where) {
    if (given) {
        throw UsageError(std::string("option ") + option + " is for " + where + ", not for " +
                         std::string(options.benchmark->name));
    }
}

void check_combination(const Options& options, const Given& given) {
    const Benchmark& benchmark = *options.benchmark;
    refuse(options, options.full && !benchmark.collective, "-f", "collectives only, as in OSU");
    refuse(options, given.window && benchmark.metric == Metric::Latency, "-W",
           "bw, bibw and mbw_mr");
    refuse(options, given.sizes && !benchmark.has_sizes, "-m", "benchmarks that send data");
    refuse(options, given.type && !benchmark.has_sizes, "-T", "benchmarks that send data");
    refuse(options, options.validate && !benchmark.has_sizes, "-c", "benchmarks that send data");
    if (options.inject_error && !options.validate) {
        throw UsageError("option --inject-error needs --validate, which is what it tests");
    }
    const std::size_t width = element_size(options.type);
    const std::vector<std::uint64_t> sizes = options.sizes();
    if (sizes.empty()) {
        throw UsageError("there is no size to measure from " +
                         std::to_string(options.minimum_size) + " to " +
                         std::to_string(options.maximum_size) + " bytes: one " +
                         type_name(options.type) + " has " + std::to_string(width));
    }
    for (const std::uint64_t size : sizes) {
        if (size % width != 0) {
            throw UsageError("a size of " + std::to_string(size) + " bytes is not a multiple of " +
                             std::to_string(width) + ", the size of " + type_name(options.type));
        }
    }
}

void take_option(int letter, Options& options, Given& given) {
    constexpr std::uint64_t kMostRounds = INT_MAX; // MPI_Reduce counts the samples in an int
    switch (letter) {
    case 'm':
        given.sizes = optarg;
        break;
    case 'i':
        given.iterations = bench::parse_count("-i", optarg, 1, kMostRounds);
        break;
    case 'x':
        given.warmup = bench::parse_count("-x", optarg, 0, kMostRounds);
        break;
    case 'W':
        given.window = bench::parse_count("-W", optarg, 1, 1'000'000);
        break;
    case 'T':
        options.type = bench::parse_choice("-T", optarg, kTypes);
        given.type = true;
        break;
    case 'c':
        options.validate = true;
        break;
    case 'f':
        options.full = true;
        break;
    case 'z':
        options.percentiles = bench::parse_percentiles(
            "-z", optarg == nullptr ? "50,90,99" : optarg, kMostPercentiles);
        break;
    case kJson:
        options.json = optarg;
        break;
    case kTimeBudget:
        options.time_budget = bench::parse_seconds("--time-budget", optarg);
        break;
    case kInjectError:
        options.inject_error = true;
        break;
    default:
        throw std::logic_error("an option is declared but not handled");
    }
}

} // namespace

const char* type_name(ElementType type) {
    switch (type) {
    case ElementType::Int:
        return "MPI_INT";
    case ElementType::Float:
        return "MPI_FLOAT";
    case ElementType::Char:
        break;
    }
    return "MPI_CHAR";
}

const Rounds& Options::rounds(std::uint64_t size) const {
    return size > kLargeMessage ? large : small;
}

std::vector<std::uint64_t> Options::sizes() const {
    if (!benchmark->has_sizes) {
        return {0};
    }
    std::vector<std::uint64_t> result;
    for (std::uint64_t size = minimum_size == 0 ? 1 : minimum_size; size <= maximum_size;
         size *= 2) {
        if (size >= element_size(type)) {
            result.push_back(size);
        }
    }
    return result;
}

Options parse_options(int argc, char** argv) {
    static const std::array<option, 15> kLongOptions = {{
        {"message-size", required_argument, nullptr, 'm'},
        {"iterations", required_argument, nullptr, 'i'},
        {"warmup", required_argument, nullptr, 'x'},
        {"window-size", required_argument, nullptr, 'W'},
        {"type", required_argument, nullptr, 'T'},
        {"validate", no_argument, nullptr, 'c'},
        {"validation", no_argument, nullptr, 'c'},
        {"full", no_argument, nullptr, 'f'},
        {"tail-lat", optional_argument, nullptr, 'z'},
        {"json", required_argument, nullptr, kJson},
        {"time-budget", required_argument, nullptr, kTimeBudget},
        {"inject-error", no_argument, nullptr, kInjectError},
        {"help", no_argument, nullptr, 'h'},
        {"version", no_argument, nullptr, 'v'},
        {nullptr, 0, nullptr, 0},
    }};
    Options options;
    Given given;
    options.action =
        bench::read_options("mpi_probe", argc, argv, ":m:i:x:W:T:cfz::hv", kLongOptions.data(),
                            [&](int letter) { take_option(letter, options, given); });
    if (options.action != bench::Action::Run) {
        return options;
    }
    if (optind == argc) {
        throw UsageError("no benchmark is named; expected one of " + known_names());
    }
    options.benchmark = find_benchmark(argv[optind]);
    if (options.benchmark == nullptr) {
        throw UsageError("unknown benchmark \"" + std::string(argv[optind]) +
                         "\"; expected one of " + known_names());
    }
    if (optind + 1 < argc) {
        throw UsageError("one benchmark at a time: \"" + std::string(argv[optind + 1]) +
                         "\" is one word too many (the values of -z are attached: -z50,99)");
    }
    apply_defaults(options);
    apply_given(options, given);
    check_combination(options, given);
    return options;
}

void check_world_size(const Benchmark& benchmark, int ranks) {
    const std::string found =
        ", but MPI_COMM_WORLD has " + std::to_string(ranks) +
        (ranks == 1 ? " (a launcher whose PMI is not this MPI's starts worlds of one rank)" : "");
    const std::string name(benchmark.name);
    switch (benchmark.ranks) {
    case RankRule::ExactlyTwo:
        if (ranks != 2) {
            throw UsageError(name + " needs exactly two ranks" + found);
        }
        break;
    case RankRule::Even:
        if (ranks < 2 || ranks % 2 != 0) {
            throw UsageError(name + " needs an even number of ranks" + found);
        }
        break;
    case RankRule::AtLeastTwo:
        if (ranks < 2) {
            throw UsageError(name + " needs at least two ranks" + found);
        }
        break;
    }
}

std::string help_text() {
    return "Usage: mpirun -n N mpi_probe BENCHMARK [options]\n"
           "\n"
           "Measures MPI with the methods, option letters and table of the OSU micro-benchmarks "
           "7.x.\n"
           "\n"
           "BENCHMARK is one of\n"
           "  two ranks:          latency, bw, bibw\n"
           "  even rank number:   mbw_mr (rank r sends to rank r + N/2)\n"
           "  two or more ranks:  allreduce, reduce, bcast, alltoall, allgather, reduce_scatter,\n"
           "                      gather, scatter, barrier\n"
           "\n"
           "Options (defaults are OSU's)\n"
           "  -m, --message-size [MIN:]MAX  sizes in bytes, doubling from MIN (1) to MAX "
           "(4194304;\n"
           "                                collectives 1048576)\n"
           "  -i, --iterations N            timed iterations of each size (latency 10000, "
           "bandwidths\n"
           "                                100, collectives 1000; above 8192 bytes 1000, 20, "
           "100;\n"
           "                                mbw_mr 100 at all sizes)\n"
           "  -x, --warmup N                iterations before them (100, 10, 100; above 8192 "
           "bytes\n"
           "                                10, 2, 10; mbw_mr 10)\n"
           "  -W, --window-size N           messages in flight in bw, bibw, mbw_mr (64)\n"
           "  -T, --type TYPE               mpi_char, mpi_int or mpi_float (mpi_char)\n"
           "  -c, --validate                check all received data, outside the timed part\n"
           "  -f, --full                    columns Min, Max, Iterations (collectives)\n"
           "  -z[LIST], --tail-lat[=LIST]   percentile columns (50,90,99); LIST is attached: "
           "-z50,99\n"
           "      --json FILE|-             write the results as JSON; with - the table goes to\n"
           "                                standard error\n"
           "      --time-budget SECONDS     at most about so long for each size: fewer iterations\n"
           "                                than -i where the warm-up shows that they would not "
           "fit\n"
           "      --inject-error            falsify one received element before it is checked, to\n"
           "                                see --validate fail\n"
           "  -h, --help                    this text\n"
           "  -v, --version                 the version\n"
           "\n"
           "Exit codes: 0 all sizes measured; 1 wrong data received, an MPI error, or the JSON "
           "file\n"
           "could not be written; 2 bad options or wrong number of ranks.\n"
           "\n"
           "Examples\n"
           "  mpirun -n 2 mpi_probe latency -m 1:1048576 -z50,90,99\n"
           "  mpirun -n 2 mpi_probe bw -W 32 --json bw.json --time-budget 0.5\n"
           "  mpirun -n 4 mpi_probe allreduce -T mpi_float -f -c\n"
           "  mpirun -n 2 mpi_probe latency --validate --inject-error   # must exit with code 1\n";
}

} // namespace mpi_probe
