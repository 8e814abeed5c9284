#include "mpi_probe/options.hpp"

#include <climits>

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

constexpr bench::Choices<bench::gpu::Memory, 3> kBuffers = {
    {{"host", bench::gpu::Memory::Host},
     {"device", bench::gpu::Memory::Device},
     {"managed", bench::gpu::Memory::Managed}}};
constexpr bench::Choices<Path, 2> kPaths = {{{"aware", Path::Aware}, {"staged", Path::Staged}}};

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

void apply_given(Options& options) {
    if (!options.size_range.empty()) {
        const auto range = bench::parse_size_range(
            "-m", options.size_range, {options.minimum_size, options.maximum_size}, kLargestSize);
        options.minimum_size = range.minimum;
        options.maximum_size = range.maximum;
    }
    for (Rounds* const rounds : {&options.small, &options.large}) {
        rounds->iterations = options.iterations.value_or(rounds->iterations);
        rounds->warmup = options.warmup.value_or(rounds->warmup);
    }
}

void refuse(const Options& options, bool given, const char* option, const char* where) {
    if (given) {
        throw UsageError(std::string("option ") + option + " is for " + where + ", not for " +
                         std::string(options.benchmark->name));
    }
}

void check_combination(const Options& options, const bench::OptionTable& table) {
    const Benchmark& benchmark = *options.benchmark;
    refuse(options, options.full && !benchmark.collective, "-f", "collectives only, as in OSU");
    refuse(options, table.given("window-size") && benchmark.metric == Metric::Latency, "-W",
           "bw, bibw and mbw_mr");
    refuse(options, table.given("message-size") && !benchmark.has_sizes, "-m",
           "benchmarks that send data");
    refuse(options, table.given("type") && !benchmark.has_sizes, "-T", "benchmarks that send data");
    refuse(options, options.validate && !benchmark.has_sizes, "-c", "benchmarks that send data");
    refuse(options, options.uses_gpu() && !benchmark.has_sizes, "--buffer",
           "benchmarks that send data");
    for (const char* const option : {"path", "gpu"}) {
        if (table.given(option) && !options.uses_gpu()) {
            throw UsageError(std::string("option --") + option +
                             " needs --buffer device or managed");
        }
    }
    check_common(options);
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

bench::OptionTable table_of(Options& options) {
    constexpr std::uint64_t kMostRounds = INT_MAX; // MPI_Reduce counts the samples in an int
    bench::OptionTable table("mpi_probe");
    table.section("Options (defaults are OSU's)");
    table.text("m,message-size=[MIN:]MAX", options.size_range,
               "sizes in bytes, doubling from MIN (1) to MAX (4194304; collectives 1048576)");
    table.count("i,iterations=N", options.iterations, {1, kMostRounds},
                "timed iterations of each size (latency 10000, bandwidths 100, collectives 1000; "
                "above 8192 bytes 1000, 20, 100; mbw_mr 100 at all sizes)");
    table.count("x,warmup=N", options.warmup, {0, kMostRounds},
                "iterations before them (100, 10, 100; above 8192 bytes 10, 2, 10; mbw_mr 10)");
    table.count("W,window-size=N", options.window, {1, 1'000'000},
                "messages in flight in bw, bibw, mbw_mr");
    table.choice("T,type", options.type, kTypes, "of the elements");
    table.flag("f,full", options.full, "columns Min, Max, Iterations (collectives)");
    table.value(
        "z,tail-lat[=LIST]", "percentile columns; LIST is attached: -z50,99", "50,90,99",
        [&options](const std::string& option, const std::string& text) {
            options.percentiles = bench::parse_percentiles(option, text.empty() ? "50,90,99" : text,
                                                           kMostPercentiles);
        },
        [&options](bench::JsonWriter& json) {
            json.value(
                std::vector<std::uint64_t>(options.percentiles.begin(), options.percentiles.end()));
        });
    table.section("Of GPUs");
    table.choice("buffer", options.buffer, kBuffers,
                 "memory that is sent and received: the host's, the GPU's, or managed by both");
    table.choice("path", options.path, kPaths,
                 "give MPI the GPU's memory, or a copy in pinned host memory, copied in the timed "
                 "part");
    table.count("gpu=N", options.gpu, {0, INT_MAX},
                "GPU of every rank (the rank on its node, modulo its GPUs)");
    add_common(table, options, "check all received data, outside the timed part");
    return table;
}

Options parse_options(int argc, char** argv) {
    return bench::parse(
        table_of, argc, argv, [](Options& options, const bench::OptionTable& table) {
            options.benchmark = bench::only_named(table, "benchmark", all_benchmarks(),
                                                  " (the values of -z are attached: -z50,99)");
            apply_defaults(options);
            apply_given(options);
            check_combination(options, table);
        });
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
    Options defaults;
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
           "" +
           table_of(defaults).help() +
           "\n"
           "Exit codes: 0 all sizes measured; 1 wrong data received, an MPI error, an MPI that is "
           "not\n"
           "CUDA-aware, or the JSON file could not be written; 2 bad options, wrong number of "
           "ranks, "
           "or no\n"
           "GPU where one is asked for; 128 + signal after SIGINT or SIGTERM, with the sizes that "
           "were\n"
           "measured.\n"
           "\n"
           "Examples\n"
           "  mpirun -n 2 mpi_probe latency -m 1:1048576 -z50,90,99\n"
           "  mpirun -n 2 mpi_probe bw -W 32 --json bw.json --time-budget 0.5\n"
           "  mpirun -n 4 mpi_probe allreduce -T mpi_float -f -c\n"
           "  mpirun -n 2 mpi_probe bw --buffer device --path staged\n"
           "  mpirun -n 2 mpi_probe latency --validate --inject-error   # must exit with code 1\n";
}

} // namespace mpi_probe
