#include "rdma_batch/options_check.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
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
constexpr unsigned kMostQueuePairs = 1024;
constexpr unsigned kMostRequests = 32768;

enum LongOnly : int {
    kOperation = bench::kLongOnly,
    kAll,
    kAllBatch,
    kSizes,
    kBatches,
    kBufferSize,
    kBatch,
    kBatchTransfer,
    kSession,
    kInitiators,
    kTargets,
    kQueuePairs,
    kWorkers,
    kPoll,
    kIterations,
    kWarmup,
    kTimeBudget,
    kDevices,
    kPort,
    kGidIndex,
    kMtu,
    kServiceLevel,
    kQueueDepth,
    kChain,
    kReadsInFlight,
    kInline,
    kMemory,
    kNuma,
    kNoValidate,
    kInjectError,
    kColumns,
    kJson,
    kPatience,
    kOwnHost,
    kLogLevel,
};

std::vector<std::uint64_t> doubling(bench::SizeRange range) {
    std::vector<std::uint64_t> values;
    for (std::uint64_t value = range.minimum; value <= range.maximum; value *= 2) {
        values.push_back(value);
    }
    return values;
}

// "A,B,C", or a range to double through.
std::vector<std::uint64_t> parse_sweep(const char* name, const std::string& text,
                                       bench::SizeRange defaults, std::uint64_t limit) {
    if (text.find(',') != std::string::npos) {
        return bench::parse_counts(name, text, 1, limit, kMostRows);
    }
    const bench::SizeRange range = bench::parse_size_range(name, text, defaults, limit);
    if (range.minimum == 0) {
        throw UsageError(std::string("option ") + name + ": \"" + text +
                         "\" begins at 0; there is no transfer of 0 bytes and no batch of 0");
    }
    return doubling(range);
}

std::vector<std::string> parse_devices(const std::string& text) {
    std::vector<std::string> devices;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t comma = std::min(text.find(',', start), text.size());
        devices.push_back(text.substr(start, comma - start));
        if (devices.back().empty()) {
            throw UsageError("option --dev: \"" + text +
                             "\" has an empty name; expected NAME[:PORT][,NAME[:PORT]]...");
        }
        start = comma + 1;
    }
    return devices;
}

Numa parse_numa(const std::string& text) {
    if (text == "none") {
        return {};
    }
    if (text == "device") {
        return {Numa::Kind::OfDevice, 0};
    }
    constexpr std::uint64_t kMostNodes = 1023;
    return {Numa::Kind::Node, static_cast<unsigned>(parse_count("--numa", text, 0, kMostNodes))};
}

unsigned parse_unsigned(const char* name, std::uint64_t minimum, std::uint64_t maximum) {
    return static_cast<unsigned>(parse_count(name, optarg, minimum, maximum));
}

// MORI-IO's options.
bool take_seed_option(int letter, Options& options, Given& given) {
    switch (letter) {
    case kOperation:
        options.operation = bench::parse_choice<Operation, 2>(
            "--op", optarg, {{{"read", Operation::Read}, {"write", Operation::Write}}});
        break;
    case kAll:
        options.all = true;
        break;
    case kAllBatch:
        options.all_batch = true;
        break;
    case kBufferSize:
        options.buffer_size = parse_count("--buffer-size", optarg, 1, kLargestTransfer);
        given.buffer_size = true;
        break;
    case kBatch:
        options.batch = parse_count("--transfer-batch-size", optarg, 1, kLargestBatch);
        given.batch = true;
        break;
    case kBatchTransfer:
        options.batch_transfer = true;
        break;
    case kSession:
        options.session = true;
        break;
    case kInitiators:
        options.initiators = parse_unsigned("--num-initiator-dev", 1, kMostDevices);
        break;
    case kTargets:
        options.targets = parse_unsigned("--num-target-dev", 1, kMostDevices);
        break;
    case kQueuePairs:
        options.queue_pairs = parse_unsigned("--num-qp-per-transfer", 1, kMostQueuePairs);
        break;
    case kWorkers:
        options.workers = parse_unsigned("--num-worker-threads", 1, kMostQueuePairs);
        break;
    case kPoll:
        options.poll = bench::parse_choice<PollMode, 2>(
            "--poll-cq-mode", optarg,
            {{{"polling", PollMode::Polling}, {"event", PollMode::Event}}});
        break;
    default:
        return false;
    }
    return true;
}

// What is measured, and what is told of it.
bool take_measure_option(int letter, Options& options, Given& given) {
    switch (letter) {
    case kSizes:
        options.sizes = parse_sweep("--sizes", optarg, kAllSizes, kLargestTransfer);
        given.sizes = true;
        break;
    case kBatches:
        options.batches = parse_sweep("--batches", optarg, kAllBatches, kLargestBatch);
        given.batches = true;
        break;
    case kIterations:
        options.iterations = parse_count("--iters", optarg, 1, kMostIterations);
        break;
    case kWarmup:
        options.warmup = parse_count("--warmup", optarg, 0, kMostIterations);
        break;
    case kTimeBudget:
        options.time_budget = bench::parse_seconds("--time-budget", optarg);
        break;
    case kNoValidate:
        options.validate = false;
        break;
    case kInjectError:
        options.inject_error = true;
        break;
    case kColumns:
        options.columns = bench::parse_choice<Columns, 3>(
            "--columns", optarg,
            {{{"short", Columns::Short}, {"seed", Columns::Seed}, {"full", Columns::Full}}});
        break;
    case kJson:
        options.json = optarg;
        break;
    default:
        return false;
    }
    return true;
}

// Devices, queue pairs, memory and the way to the other end.
bool take_resource_option(int letter, Options& options, Given& given) {
    constexpr std::uint64_t kMostGids = 65535;
    constexpr std::uint64_t kLargestInline = 4096;
    constexpr std::uint64_t kMostReads = 255;
    switch (letter) {
    case kDevices:
        options.devices = parse_devices(optarg);
        break;
    case kPort:
        options.port = parse_unsigned("--port", 1, 255);
        break;
    case kGidIndex:
        options.gid_index = parse_unsigned("--gid-index", 0, kMostGids);
        break;
    case kMtu:
        options.mtu = bench::parse_choice<unsigned, 5>(
            "--mtu", optarg,
            {{{"256", 256}, {"512", 512}, {"1024", 1024}, {"2048", 2048}, {"4096", 4096}}});
        break;
    case kServiceLevel:
        options.service_level = parse_unsigned("--sl", 0, 15);
        break;
    case kQueueDepth:
        options.queue_depth = parse_unsigned("--sq-depth", 1, kMostRequests);
        break;
    case kChain:
        options.chain = parse_unsigned("--post-batch", 1, kMostRequests);
        given.chain = true;
        break;
    case kReadsInFlight:
        options.reads_in_flight = parse_unsigned("--max-rd-atomic", 1, kMostReads);
        given.reads = true;
        break;
    case kInline:
        options.inline_bytes = parse_unsigned("--inline", 0, kLargestInline);
        given.inlined = true;
        break;
    case kMemory:
        options.most_memory = parse_count("--max-mem", optarg, 4096, kMostMemory);
        break;
    case kNuma:
        options.numa = parse_numa(optarg);
        break;
    case 'p':
        options.tcp_port = static_cast<std::uint16_t>(parse_unsigned("-p", 1, 65535));
        break;
    case kOwnHost:
        options.own_host = optarg;
        break;
    case kLogLevel:
        options.notes.emplace_back("option --log-level changes nothing: this program has no log");
        break;
    case kPatience:
        options.patience = bench::parse_seconds("--wait", optarg);
        break;
    default:
        return false;
    }
    return true;
}

void take_option(int letter, Options& options, Given& given) {
    if (!take_seed_option(letter, options, given) && !take_measure_option(letter, options, given) &&
        !take_resource_option(letter, options, given)) {
        throw std::logic_error("an option is declared but not handled");
    }
}

const std::array<option, 41>& long_options() {
    static const std::array<option, 41> kLongOptions = {{
        {"op", required_argument, nullptr, kOperation},
        {"op-type", required_argument, nullptr, kOperation},
        {"all", no_argument, nullptr, kAll},
        {"all-batch", no_argument, nullptr, kAllBatch},
        {"sizes", required_argument, nullptr, kSizes},
        {"batches", required_argument, nullptr, kBatches},
        {"buffer-size", required_argument, nullptr, kBufferSize},
        {"transfer-batch-size", required_argument, nullptr, kBatch},
        {"enable-batch-transfer", no_argument, nullptr, kBatchTransfer},
        {"enable-sess", no_argument, nullptr, kSession},
        {"num-initiator-dev", required_argument, nullptr, kInitiators},
        {"num-target-dev", required_argument, nullptr, kTargets},
        {"num-qp-per-transfer", required_argument, nullptr, kQueuePairs},
        {"num-worker-threads", required_argument, nullptr, kWorkers},
        {"poll-cq-mode", required_argument, nullptr, kPoll},
        {"poll_cq_mode", required_argument, nullptr, kPoll},
        {"iters", required_argument, nullptr, kIterations},
        {"warmup", required_argument, nullptr, kWarmup},
        {"time-budget", required_argument, nullptr, kTimeBudget},
        {"dev", required_argument, nullptr, kDevices},
        {"port", required_argument, nullptr, kPort},
        {"gid-index", required_argument, nullptr, kGidIndex},
        {"mtu", required_argument, nullptr, kMtu},
        {"sl", required_argument, nullptr, kServiceLevel},
        {"sq-depth", required_argument, nullptr, kQueueDepth},
        {"post-batch", required_argument, nullptr, kChain},
        {"max-rd-atomic", required_argument, nullptr, kReadsInFlight},
        {"inline", required_argument, nullptr, kInline},
        {"max-mem", required_argument, nullptr, kMemory},
        {"numa", required_argument, nullptr, kNuma},
        {"no-validate", no_argument, nullptr, kNoValidate},
        {"inject-error", no_argument, nullptr, kInjectError},
        {"columns", required_argument, nullptr, kColumns},
        {"json", required_argument, nullptr, kJson},
        {"wait", required_argument, nullptr, kPatience},
        {"host", required_argument, nullptr, kOwnHost},
        {"log-level", required_argument, nullptr, kLogLevel},
        {"tcp-port", required_argument, nullptr, 'p'},
        {"help", no_argument, nullptr, 'h'},
        {"version", no_argument, nullptr, 'v'},
        {nullptr, 0, nullptr, 0},
    }};
    return kLongOptions;
}

} // namespace

const char* operation_name(Operation operation) {
    return operation == Operation::Read ? "read" : "write";
}

const char* poll_name(PollMode poll) {
    return poll == PollMode::Polling ? "polling" : "event";
}

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

Options parse_options(int argc, char** argv) {
    Options options;
    options.sizes = doubling(kAllSizes);
    options.batches = doubling(kAllBatches);
    Given given;
    options.action = bench::read_options("rdma_batch", argc, argv, ":p:hv", long_options().data(),
                                         [&](int letter) { take_option(letter, options, given); });
    if (options.action != bench::Action::Run) {
        return options;
    }
    if (optind < argc) {
        options.host = argv[optind];
        if (options.host.empty()) {
            throw UsageError("the target's name is empty: is the variable that holds it set?");
        }
    }
    if (optind + 1 < argc) {
        throw UsageError("one target at a time: \"" + std::string(argv[optind + 1]) +
                         "\" is one word too many");
    }
    check_combination(options, given);
    note_unused(options, given);
    return options;
}

} // namespace rdma_batch
