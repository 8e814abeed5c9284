#include "allreduce_lab/options.hpp"

#include <array>

namespace allreduce_lab {

namespace {

using bench::UsageError;

constexpr int kMostRanks = 255; // a packet tells its source in one byte
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostIterations = 1'000'000;
constexpr std::size_t kMostBuckets = 4096;
constexpr bench::Choices<Scheme, 4> kSchemes = {{{"ring", Scheme::Ring},
                                                 {"bcube", Scheme::Bcube},
                                                 {"tar_tcp", Scheme::TarTcp},
                                                 {"optireduce", Scheme::Optireduce}}};

constexpr bench::Choices<Network, 5> kNetworks = {{{"plain", Network::Plain},
                                                   {"long", Network::Long},
                                                   {"short", Network::Short},
                                                   {"elastic", Network::Elastic},
                                                   {"lossy", Network::Lossy}}};

constexpr std::array<const char*, 10> kOfOptireduce = {
    "no-hadamard", "payload", "tr-timeout", "calibration", "loss-target",
    "tail-target", "rate",    "skip-loss",  "halt-loss",   "inject-loss"};

void add_place(bench::OptionTable& table, Options& options) {
    table.section("Where the ranks meet");
    table.count("s,size=N", options.size, {1, kMostRanks}, "ranks in all");
    table.count("r,rank=N", options.rank, {0, kMostRanks - 1}, "rank of this process");
    table.text("redis-host=HOST", options.redis_host, "a Redis server that all ranks reach");
    table.count("p,redis-port=PORT", options.redis_port, {1, 65535}, "its port");
    table.text("shared-path=FOLDER", options.shared_path, "or a folder that all ranks see");
    table.value(
        "x,prefix=WORD", "of the run's keys: another one for each run", options.prefix,
        [&options](const std::string& /*option*/, const std::string& text) {
            options.prefix = text;
        },
        [&options](bench::JsonWriter& json) { json.value(options.prefix); });
    table.text("tcp-device=DEVICE", options.device,
               "network interface (the first that is no loopback)");
    table.seconds("timeout=SECONDS", options.timeout, "that one rank waits for another");
}

// A positive number that need not be whole.
template <class Number>
void add_number(bench::OptionTable& table, const char* names, Number& target, const char* help) {
    const std::string name = "--" + std::string(names, std::string_view(names).find('='));
    std::array<char, 16> fallback = {"none"};
    if constexpr (std::is_same_v<Number, double>) {
        (void)std::snprintf(fallback.data(), fallback.size(), "%g", target);
    }
    table.value(
        names, help, fallback.data(),
        [&target](const std::string& option, const std::string& text) {
            target = bench::parse_seconds(option, text);
        },
        [&target](bench::JsonWriter& json) {
            const std::optional<double> value = target;
            value ? json.value(*value) : json.null();
        });
}

void add_training(bench::OptionTable& table, Options& options) {
    constexpr std::uint64_t kLongest = 1'000'000;
    table.section("An iteration of a training, and its environment");
    table.value(
        "buckets=BYTES,BYTES", "of gradients, as they get ready; --elements is of probes alone",
        "none",
        [&options](const std::string& option, const std::string& text) {
            options.buckets = bench::parse_counts(option, text, sizeof(float),
                                                  kMostElements * sizeof(float), kMostBuckets);
        },
        [&options](bench::JsonWriter& json) {
            json.value(static_cast<std::uint64_t>(options.buckets.size()));
        });
    table.count("compute=MS", options.compute, {0, kLongest}, "of an iteration, beside them");
    table.count("tr-threads-offset=CORE", options.core, {0, 4095},
                "for the thread that communicates, none of the cores of taskset");
    table.flag("relaxed", options.relaxed, "run on fewer than four cores all the same");
    table.choice("environment", options.environment, kNetworks,
                 "other traffic, or the frames that a link drops");
    add_number(table, "tail=RATIO", options.tail,
               "p99 over p50 of a ring that bursts must make; alone it means --environment long");
    table.count("flows=N", options.flows, {2, 256}, "processes whose ring is the elastic traffic");
    table.flag("train", options.train, "sum gradients of a network that learns by them");
    table.count("resync=N", options.resync, {1, kMostIterations},
                "steps between two copies of rank 0's weights to all", "none");
    table.flag("realtime", options.realtime, "ahead of other work (SCHED_RR), where allowed");
}

void add_bounded(bench::OptionTable& table, Options& options) {
    constexpr std::uint64_t kLargestBlock = 1 << 24;
    constexpr std::uint64_t kPercent = 100;
    table.section("The bounded transport, of optireduce");
    table.flag("no-hadamard", options.spread, "do not spread losses by the Hadamard transform",
               false);
    table.count("hadamard-block=N", options.hadamard_block, {2, kLargestBlock},
                "floats of a block, a power of two");
    table.count("payload=BYTES", options.payload, {64, 8900}, "of a packet, in whole floats");
    table.count("tr-timeout=MS", options.bound, {1, 1'000'000}, "t_B, the longest time of a stage",
                "calibrated");
    table.count("calibration=N", options.calibration, {20, 100'000}, "sums that t_B is taken from");
    add_number(table, "loss-target=PERCENT", options.loss_target,
               "of the packets that may come after t_B");
    add_number(table, "tail-target=RATIO", options.tail_target,
               "typical sums that twice t_B may be");
    table.count("rate=MBIT", options.rate, {1, 1'000'000}, "that a sender keeps to",
                "as the socket takes it");
    table.count("skip-loss=PERCENT", options.skip_loss, {1, kPercent},
                "of a shard's contributions: no rank uses the sum");
    table.count("halt-loss=PERCENT", options.halt_loss, {1, kPercent}, "of a bucket: the run ends");
    table.count("inject-loss=N", options.inject_loss, {2, kMostIterations},
                "do not send every N-th packet, to see it counted", "none");
}

void check_combination(const Options& options, const bench::OptionTable& table) {
    if (options.rank >= options.size) {
        throw UsageError("option --rank: " + std::to_string(options.rank) + " is none of the " +
                         std::to_string(options.size) + " ranks (--size), which count from 0");
    }
    if (options.redis_host.empty() == options.shared_path.empty()) {
        throw UsageError("either --redis-host or --shared-path is needed, where the ranks meet");
    }
    if (options.tail && (*options.tail <= 1 || options.size < 2)) {
        throw UsageError("option --tail: a ratio above 1 is needed, and two ranks or more");
    }
    const bool has_bursts =
        options.environment == Network::Long || options.environment == Network::Short;
    if (has_bursts != options.tail.has_value() ||
        (options.environment == Network::Elastic && options.size < 2)) {
        throw UsageError("option --environment: long and short need a --tail, the others have "
                         "none, and elastic needs two ranks or more");
    }
    if (options.train && (options.elements != kLearned || !options.buckets.empty() ||
                          options.size > kMostLearners)) {
        throw UsageError("option --train: its gradients are --elements " +
                         std::to_string(kLearned) + " without --buckets, of at most " +
                         std::to_string(kMostLearners) + " ranks");
    }
    if (options.resync > 0 && !options.train) {
        throw UsageError("option --resync is for --train");
    }
    if ((options.hadamard_block & (options.hadamard_block - 1)) != 0) {
        throw UsageError("option --hadamard-block: " + std::to_string(options.hadamard_block) +
                         " is no power of two");
    }
    if (options.payload % sizeof(float) != 0) {
        throw UsageError("option --payload: " + std::to_string(options.payload) +
                         " bytes are no whole floats of 4 bytes");
    }
    for (const char* const name : kOfOptireduce) {
        if (table.given(name) && !options.uses(Scheme::Optireduce)) {
            throw UsageError("option --" + std::string(name) + " is for optireduce, not for " +
                             std::string(name_of(options.schemes.front())));
        }
    }
    check_common(options);
}

} // namespace

std::string_view name_of(Scheme scheme) {
    return kSchemes[static_cast<std::size_t>(scheme)].first;
}

bench::OptionTable table_of(Options& options) {
    bench::OptionTable table("allreduce_lab");
    add_place(table, options);
    table.section("What is summed, and how often");
    table.count("elements=N", options.elements, {1, kMostElements}, "floats of the vector");
    table.count("iteration-count=N", options.iterations, {1, kMostIterations}, "timed sums");
    table.count("warmup-iters=N", options.warmup, {0, kMostIterations}, "sums before them");
    add_training(table, options);
    add_bounded(table, options);
    add_common(table, options, "look at every element of every sum, outside the timed part (yes)");
    return table;
}

Options parse_options(int argc, char** argv) {
    return bench::parse(
        table_of, argc, argv, [](Options& options, const bench::OptionTable& table) {
            for (const std::string& word : table.words()) {
                options.schemes.push_back(bench::parse_choice("SCHEME", word, kSchemes));
            }
            if (options.schemes.empty()) {
                throw UsageError("a scheme is needed, found none; see allreduce_lab --help");
            }
            if (options.time_budget && !table.given("iteration-count")) {
                options.iterations = kMostIterations;
            }
            if (options.tail && !table.given("environment")) {
                options.environment = Network::Long;
            }
            check_combination(options, table);
        });
}

std::string help_text() {
    Options defaults;
    std::string schemes;
    for (const auto& [word, value] : kSchemes) {
        schemes += " " + std::string(word);
    }
    return "Usage: allreduce_lab [options] SCHEME...   once for each rank\n"
           "\n"
           "Sums a vector of floats over all ranks, again and again, and reports how long that\n"
           "takes and how that varies. Several schemes take turns. Schemes:\n " +
           schemes + "\n\n" + table_of(defaults).help() +
           "\n"
           "Exit codes: 0 all sums measured; 1 a wrong sum, a rank that is gone, or an output\n"
           "that could not be written; 2 bad options, or the ranks could not meet; 130 and 143\n"
           "ended early by SIGINT or SIGTERM: what was measured is printed and marked.\n"
           "\n"
           "Examples\n"
           "  for rank in 0 1 2 3; do\n"
           "    allreduce_lab --size 4 --rank $rank --shared-path /tmp --prefix $$ ring &\n"
           "  done\n"
           "  allreduce_lab --size 8 --rank 0 --redis-host n0 --prefix 17 --json ring.json bcube\n";
}

} // namespace allreduce_lab
