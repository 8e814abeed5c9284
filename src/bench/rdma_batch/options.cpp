#include "rdma_batch/options.hpp"

#include "rdma_batch/wire.hpp"

#include <algorithm>
#include <utility>

namespace rdma_batch {

namespace {

using bench::parse_count;
using bench::UsageError;

constexpr std::uint64_t kLargestTransfer = std::uint64_t{1} << 30; // InfiniBand: 2^31 bytes
constexpr std::uint64_t kLargestBatch = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostIterations = 10'000'000;
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 40;
constexpr std::size_t kMostRows = 1000;
constexpr bench::SizeRange kAllSizes{8, std::uint64_t{1} << 20};
constexpr bench::SizeRange kAllBatches{1, 32768};
constexpr unsigned kMostDevices = 64;
constexpr unsigned kMostRequests = 32768;

constexpr bench::Choices<unsigned, 5> kMtus = {
    {{"256", 256}, {"512", 512}, {"1024", 1024}, {"2048", 2048}, {"4096", 4096}}};
constexpr bench::Choices<Columns, 3> kColumns = {
    {{"short", Columns::Short}, {"seed", Columns::Seed}, {"full", Columns::Full}}};

std::vector<std::uint64_t> doubling(bench::SizeRange range) {
    std::vector<std::uint64_t> values;
    for (std::uint64_t value = range.minimum; value <= range.maximum; value *= 2) {
        values.push_back(value);
    }
    return values;
}

// "A,B,C", or a range to double through.
std::vector<std::uint64_t> parse_sweep(const std::string& name, const std::string& text,
                                       bench::SizeRange defaults, std::uint64_t limit) {
    if (text.find(',') != std::string::npos) {
        return bench::parse_counts(name, text, 1, limit, kMostRows);
    }
    const bench::SizeRange range = bench::parse_size_range(name, text, defaults, limit);
    if (range.minimum == 0) {
        throw UsageError("option " + name + ": \"" + text +
                         "\" begins at 0; there is no transfer of 0 bytes and no batch of 0");
    }
    return doubling(range);
}

std::vector<std::string> parse_devices(const std::string& text) {
    std::vector<std::string> devices = bench::split(text, ',');
    if (std::find(devices.begin(), devices.end(), "") != devices.end()) {
        throw UsageError("option --dev: \"" + text +
                         "\" has an empty name; expected NAME[:PORT][,NAME[:PORT]]...");
    }
    return devices;
}

Numa parse_numa(const std::string& option, const std::string& text) {
    if (text == "none") {
        return {};
    }
    if (text == "device") {
        return {Numa::Kind::OfDevice, 0};
    }
    constexpr std::uint64_t kMostNodes = 1023;
    return {Numa::Kind::Node, static_cast<unsigned>(parse_count(option, text, 0, kMostNodes))};
}

std::string words_of(const Numa& numa) {
    const bool node = numa.kind == Numa::Kind::Node;
    return node ? std::to_string(numa.node) : numa.kind == Numa::Kind::None ? "none" : "device";
}

// MORI-IO's options.
void add_measured(bench::OptionTable& table, Options& options) {
    using Text = const std::string&;
    table.section("What is measured");
    table.choice("op,op-type", options.operation, kOperations, "the operation");
    table.count("buffer-size=N", options.buffer_size, {1, kLargestTransfer},
                "bytes of one transfer");
    table.count("transfer-batch-size=N", options.batch, {1, kLargestBatch},
                "transfers of one batch");
    table.flag("all", options.all, "sweep the size, 8 bytes to 1 MiB");
    table.flag("all-batch", options.all_batch, "sweep the batch, 1 to 32768");
    table.value(
        "sizes=[MIN:]MAX | A,B,...", "other ends of --all, or just these", "",
        [&options](Text option, Text text) {
            options.sizes = parse_sweep(option, text, kAllSizes, kLargestTransfer);
        },
        [&options](bench::JsonWriter& json) { json.value(options.sizes); });
    table.value(
        "batches=[MIN:]MAX | A,B,...", "other ends of --all-batch, or just these", "",
        [&options](Text option, Text text) {
            options.batches = parse_sweep(option, text, kAllBatches, kLargestBatch);
        },
        [&options](bench::JsonWriter& json) { json.value(options.batches); });
    table.count("iters,iterations=N", options.iterations, {1, kMostIterations}, "batches timed");
    table.count("warmup=N", options.warmup, {0, kMostIterations}, "batches before them");
    table.section("How it is done");
    table.flag("enable-batch-transfer", options.batch_transfer,
               "post a batch as chains of requests; without it each transfer has a post and a "
               "completion of its own");
    table.flag("enable-sess", options.session,
               "look up memory and queue pairs once, not in each call");
    table.count("num-qp-per-transfer=N", options.queue_pairs, {1, kMostQueuePairs},
                "queue pairs that share a batch");
    table.count("num-worker-threads=N", options.workers, {1, kMostQueuePairs},
                "threads that share them");
    table.choice("poll-cq-mode,poll_cq_mode", options.poll, bench::verbs::kWaitings,
                 "spin for completions, or sleep until the card wakes us");
}

void add_limits(bench::OptionTable& table, Options& options) {
    constexpr std::uint64_t kLargestInline = 4096;
    constexpr std::uint64_t kMostReads = 255;
    table.count("sq-depth=N", options.queue_depth, {1, kMostRequests},
                "requests posted and not yet completed, of a queue pair; no more than the device "
                "can");
    table.count("post-batch=N", options.chain, {1, kMostRequests}, "requests of a chain");
    table.count("max-rd-atomic=N", options.reads_in_flight, {1, kMostReads},
                "reads in flight of a queue pair (what both devices can)");
    table.count("inline=N", options.inline_bytes, {0, kLargestInline},
                "data of writes up to N bytes go inside the request");
}

// Devices, memory and the way to the other end.
void add_places(bench::OptionTable& table, Options& options) {
    using Text = const std::string&;
    constexpr std::uint64_t kMostGids = 65535;
    table.section("Where");
    table.count("num-initiator-dev=N", options.initiators, {1, kMostDevices},
                "devices, each with a process of its own");
    table.count("num-target-dev=N", options.targets, {1, kMostDevices},
                "devices of the other end, which the initiators take in turns");
    table.value(
        "dev=NAME[:PORT][,...]", "names of this end's",
        "those with the port active, in the order of ibv_devices",
        [&options](Text /*option*/, Text text) { options.devices = parse_devices(text); },
        [&options](bench::JsonWriter& json) { json.value(options.devices); });
    table.count("port=N", options.port, {1, 255}, "port of devices that are named without one");
    table.count("gid-index=N", options.gid_index, {0, kMostGids},
                "the port's address (the first of RoCE v2)");
    table.choice("mtu", options.mtu, kMtus, "path MTU in bytes (the port's)");
    table.count("sl=N", options.service_level, {0, 15}, "service level");
    table.count("tclass=N", options.traffic_class, {0, 255},
                "traffic class: DSCP times 4, and ECN in the last two bits");
    table.value(
        "numa=none|device|N", "run and allocate on a memory node", "none",
        [&options](Text option, Text text) { options.numa = parse_numa(option, text); },
        [&options](bench::JsonWriter& json) { json.value(words_of(options.numa)); });
    table.count("max-mem=N", options.most_memory, {4096, kMostMemory},
                "bytes of the buffer at most; the transfers of a batch that is larger take turns "
                "with its slots");
    table.count("p,tcp-port=N", options.tcp_port, {1, 65535}, "TCP port on which the ends meet");
    table.text("host=ADDRESS", options.own_host,
               "this end's: the target listens only there, the initiator comes from there (any)");
    table.seconds("wait=SECONDS", options.patience, "how long one end waits for the other");
    table.value("log-level=WORD", "of MORI-IO's command lines; changes nothing", "",
                [&options](Text option, Text /*text*/) {
                    options.notes.push_back("option " + option +
                                            " changes nothing: this program has no log");
                },
                {});
}

void refuse(bool given, const char* option, const char* where) {
    if (given) {
        throw UsageError(std::string("option ") + option + " is for " + where +
                         "; leave one of the two away");
    }
}

void check_sweep(const Options& options, const bench::OptionTable& table) {
    refuse(options.all && options.all_batch, "--all-batch", "a sweep of its own, not for --all");
    refuse(table.given("sizes") && !options.all, "--sizes", "the sweep of --all");
    refuse(table.given("batches") && !options.all_batch, "--batches", "the sweep of --all-batch");
}

// Options that make no sense together.
void check_combination(const Options& options, const bench::OptionTable& table) {
    check_sweep(options, table);
    const bool reads = options.operation == Operation::Read;
    refuse(table.given("max-rd-atomic") && !reads, "--max-rd-atomic", "--op read");
    refuse(table.given("inline") && reads, "--inline",
           "--op write: a request to read carries no data");
    refuse(table.given("post-batch") && !options.batch_transfer, "--post-batch",
           "--enable-batch-transfer");
    check_common(options);
    if (!options.devices.empty() && options.devices.size() != options.own_devices()) {
        throw UsageError("option --dev names " + std::to_string(options.devices.size()) +
                         " device(s), expected " + std::to_string(options.own_devices()) +
                         ", one for each of " +
                         (options.host.empty() ? "--num-target-dev" : "--num-initiator-dev") +
                         " (one may be named twice)");
    }
    if (options.workers > options.queue_pairs) {
        throw UsageError("expected a queue pair or more for each worker thread, found " +
                         std::to_string(options.workers) + " threads and " +
                         std::to_string(options.queue_pairs) +
                         " queue pairs: raise --num-qp-per-transfer");
    }
}

// What was given and changes nothing, as MORI-IO's own command lines do it.
void note_unused(Options& options, const bench::OptionTable& table) {
    if (table.given("buffer-size") && options.all) {
        options.notes.emplace_back("option --buffer-size changes nothing: --all sweeps the size");
    }
    if (table.given("transfer-batch-size") && options.all_batch) {
        options.notes.emplace_back(
            "option --transfer-batch-size changes nothing: --all-batch sweeps the batch");
    }
    if (options.targets > options.initiators) {
        options.notes.emplace_back(
            std::to_string(options.targets - options.initiators) + " of " +
            std::to_string(options.targets) +
            " target devices are not used: each initiator device has one of them");
    }
}

} // namespace

std::vector<Shape> Options::shapes() const {
    std::vector<Shape> result;
    if (all) {
        for (const std::uint64_t size : sizes) {
            result.push_back({size, batch});
        }
    } else if (all_batch) {
        for (const std::uint64_t each : batches) {
            result.push_back({buffer_size, each});
        }
    } else {
        result.push_back({buffer_size, batch});
    }
    return result;
}

bench::OptionTable table_of(Options& options) {
    bench::OptionTable table("rdma_batch");
    add_measured(table, options);
    add_limits(table, options);
    add_places(table, options);
    table.section("What is told");
    table.choice("columns", options.columns, kColumns,
                 "the columns of MORI-IO's older or newer table, or those with P50, P99 and "
                 "iterations");
    add_common(table, options, "compare all data (always, but for --no-validate)");
    return table;
}

Options parse_options(int argc, char** argv) {
    return bench::parse(
        table_of, argc, argv, [](Options& options, const bench::OptionTable& table) {
            if (!table.given("sizes")) {
                options.sizes = doubling(kAllSizes);
            }
            if (!table.given("batches")) {
                options.batches = doubling(kAllBatches);
            }
            const std::vector<std::string>& words = table.words();
            if (words.size() > 1) {
                throw UsageError("one target at a time: \"" + words[1] + "\" is one word too many");
            }
            if (!words.empty()) {
                options.host = words.front();
                if (options.host.empty()) {
                    throw UsageError(
                        "the target's name is empty: is the variable that holds it set?");
                }
            }
            check_combination(options, table);
            note_unused(options, table);
        });
}

std::string help_text() {
    Options defaults;
    return "Usage: rdma_batch [options]          on the target\n"
           "       rdma_batch [options] TARGET   on the initiator, with the same options\n"
           "\n"
           "Measures batches of RDMA reads or writes: the time from the first post of a batch to "
           "its\n"
           "last completion, and the bandwidth that follows.\n"
           "\n"
           "" +
           table_of(defaults).help() +
           "\n"
           "Exit codes: 0 all rows measured; 1 wrong data, a failed transfer, or an identity that "
           "does\n"
           "not hold; 2 bad options, no such device, too little memory, or no other end; 128 + N\n"
           "interrupted by signal N, after printing what was measured.\n"
           "\n"
           "Examples\n"
           "  rdma_batch --all --enable-sess --enable-batch-transfer --num-qp-per-transfer 2\n"
           "  rdma_batch --all --enable-sess --enable-batch-transfer --num-qp-per-transfer 2 "
           "node1\n"
           "  rdma_batch --op write --all-batch --buffer-size 1024 --enable-sess \\\n"
           "      --enable-batch-transfer --num-qp-per-transfer 16 --json batch.json node1\n"
           "  rdma_batch --op write --buffer-size 8 --inject-error node1   # must exit with code "
           "1\n";
}

} // namespace rdma_batch
