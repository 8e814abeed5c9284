#include "nccl_probe/options.hpp"

#include <climits>
#include <numeric>

namespace nccl_probe {

namespace {

using bench::UsageError;

constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 36U;
constexpr std::size_t kMostBuckets = 1024;
constexpr bench::Choices<Scheme, 3> kSchemes = {
    {{"auto", Scheme::Auto}, {"ring", Scheme::Ring}, {"tree", Scheme::Tree}}};

void check_combination(const Options& options) {
    const Collective& collective = *options.collective;
    const std::string name(collective.name);
    if (options.scheme != Scheme::Auto && collective.nccl_name.empty()) {
        throw UsageError("option --scheme is not for " + name + ", which is sends and receives");
    }
    if (options.scheme == Scheme::Tree && !collective.has_tree) {
        throw UsageError("option --scheme: NCCL has a tree for allreduce only, not for " + name);
    }
    if (!options.buckets.empty() && (name != "allreduce" || !options.size_range.empty())) {
        throw UsageError("option --buckets is for allreduce, and in place of --message-size");
    }
    if (options.compute > 0 && options.buckets.empty()) {
        throw UsageError("option --compute needs --buckets, which get ready meanwhile");
    }
    check_common(options);
}

} // namespace

std::string_view scheme_name(Scheme scheme) {
    return kSchemes[static_cast<std::size_t>(scheme)].first;
}

std::vector<std::size_t> Options::counts(int ranks) const {
    if (!buckets.empty()) {
        return {std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0}) / sizeof(float)};
    }
    std::vector<std::size_t> result;
    for (std::uint64_t size = minimum_size == 0 ? 1 : minimum_size; size <= maximum_size;
         size *= 2) {
        const std::size_t count = block_count(*collective, size, ranks);
        if (count > 0) {
            result.push_back(count);
        }
    }
    return result;
}

bench::OptionTable table_of(Options& options) {
    constexpr std::uint64_t kMostRounds = 1'000'000;
    constexpr std::uint64_t kDay = 86'400;
    bench::OptionTable table("nccl_probe");
    table.section("Options");
    table.text("m,message-size=[MIN:]MAX", options.size_range,
               "sizes in bytes, doubling from MIN (8) to MAX (4194304), as nccl-tests count them");
    table.count("i,iterations=N", options.iterations, {1, kMostRounds},
                "timed samples of each size");
    table.count("x,warmup=N", options.warmup, {0, kMostRounds}, "samples before them");
    table.count("batch=N", options.batch, {1, kMostRounds},
                "operations of a sample, launched one after the other");
    constexpr std::uint64_t kLongest = 1'000'000;
    table.value(
        "buckets=BYTES,BYTES",
        "an operation is an iteration of a training: a sum of each bucket, as they get ready",
        "none",
        [&options](const std::string& option, const std::string& text) {
            options.buckets =
                bench::parse_counts(option, text, sizeof(float), kLargestSize, kMostBuckets);
        },
        [&options](bench::JsonWriter& json) {
            json.value(static_cast<std::uint64_t>(options.buckets.size()));
        });
    table.count("compute=MS", options.compute, {0, kLongest}, "of an iteration, beside the sums");
    table.choice("scheme", options.scheme, kSchemes,
                 "NCCL's algorithm, which NCCL_ALGO is set to; auto leaves it to NCCL");
    table.count("time-limit=SECONDS", options.time_limit, {1, kDay},
                "abort NCCL when its start, or a sample, takes longer");
    table.count("gpu=N", options.gpu, {0, INT_MAX},
                "GPU of every rank (the rank on its node, modulo its GPUs)");
    table.flag("share-gpu", options.share_gpu,
               "several ranks on one GPU, which NCCL takes for hosts of their own, connected by "
               "sockets: shows that it works, never how fast");
    add_common(table, options, "check the data of each size's last operation");
    return table;
}

Options parse_options(int argc, char** argv) {
    return bench::parse(
        table_of, argc, argv, [](Options& options, const bench::OptionTable& table) {
            options.collective = bench::only_named(table, "collective", all_collectives());
            if (!options.size_range.empty()) {
                const auto range = bench::parse_size_range(
                    "-m", options.size_range, {options.minimum_size, options.maximum_size},
                    kLargestSize);
                options.minimum_size = range.minimum;
                options.maximum_size = range.maximum;
            }
            check_combination(options);
        });
}

void check_ranks(const Options& options, int ranks) {
    if (ranks < 2) {
        throw UsageError(
            "NCCL with one rank copies, and measures nothing: start two ranks or more");
    }
    if (options.counts(ranks).empty()) {
        throw UsageError("there is no size to measure from " +
                         std::to_string(options.minimum_size) + " to " +
                         std::to_string(options.maximum_size) + " bytes: each of " +
                         std::to_string(ranks) + " ranks needs a float of 4 bytes");
    }
}

std::string algorithm(const Options& options, int version) {
    constexpr int kByFunction = 22'400; // NCCL 2.24: a list for each function
    if (options.scheme == Scheme::Auto) {
        return {};
    }
    const std::string name(scheme_name(options.scheme));
    return version < kByFunction ? name : std::string(options.collective->nccl_name) + ":" + name;
}

std::string help_text() {
    Options defaults;
    return "Usage: mpirun -n N nccl_probe COLLECTIVE [options]\n"
           "\n"
           "Measures NCCL between the GPUs of all ranks: time, and the bandwidths that nccl-tests\n"
           "define. MPI only starts it.\n"
           "\n"
           "COLLECTIVE is one of " +
           bench::names_of(all_collectives()) +
           "\n"
           "\n" +
           table_of(defaults).help() +
           "\n"
           "Exit codes: 0 all sizes measured; 1 wrong data, an error of NCCL or MPI, a time limit, "
           "or the\n"
           "JSON file could not be written; 2 bad options, no GPU, or no NCCL; 128 + signal after "
           "SIGINT\n"
           "or SIGTERM, with the sizes that were measured.\n"
           "\n"
           "Examples\n"
           "  mpirun -n 8 nccl_probe allreduce --scheme tree -m 1024:1073741824\n"
           "  mpirun -n 4 nccl_probe allgather -c --json allgather.json\n"
           "  mpirun -n 2 nccl_probe allreduce -c --share-gpu         # two ranks on one GPU\n"
           "  mpirun -n 2 nccl_probe allreduce -c --inject-error      # must exit with code 1\n";
}

} // namespace nccl_probe
