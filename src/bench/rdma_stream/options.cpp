#include "rdma_stream/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace rdma_stream {

namespace {

using bench::UsageError;

constexpr std::uint64_t kMostRanks = 1'000'000;
constexpr std::uint64_t kLargestMessage = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostMessages = 1'000'000'000;
constexpr std::uint64_t kMostSlots = 1'000'000;
constexpr std::uint32_t kLargestDatagram = 65507; // 65535 less the headers of IPv4 and UDP
constexpr std::uint32_t kInBandNumber = 8;        // bytes before the content, without an immediate
constexpr double kMicro = 1e-6;
constexpr double kLongestDelay = 60e6; // us

// Each in the order of its enumeration.
constexpr bench::Choices<Method, 3> kMethods = {
    {{"rdma", Method::Rdma}, {"mpi", Method::Mpi}, {"udp", Method::Udp}}};
constexpr bench::Choices<QpType, 3> kQpTypes = {
    {{"rc", QpType::Rc}, {"uc", QpType::Uc}, {"ud", QpType::Ud}}};
constexpr bench::Choices<Waiting, 2> kWaitings = {
    {{"polling", Waiting::Polling}, {"event", Waiting::Event}}};
constexpr bench::Choices<Test, 3> kTests = {
    {{"throughput", Test::Throughput}, {"ones", Test::Ones}, {"increment", Test::Increment}}};

enum Long : int {
    kReceivers = bench::kLongOnly,
    kTransmitters,
    kMethod,
    kQpType,
    kMessageSize,
    kBlocks,
    kMessagesPerBlock,
    kMessages,
    kSendDelay,
    kTest,
    kPollMode,
    kTimeout,
    kInjectLoss,
    kDevice,
    kPort,
    kGidIndex,
    kMtu,
    kServiceLevel,
    kJson,
};

double parse_delay(std::string_view text) {
    double value = 0.0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value) || value < 0.0 ||
        value > kLongestDelay) {
        throw UsageError("option --send-delay: \"" + std::string(text) +
                         "\" is not a number of microseconds from 0 to 60000000");
    }
    return value * kMicro;
}

// The program of SEREN takes 100_000 as Python does.
std::uint64_t parse_count(const char* option, std::uint64_t minimum, std::uint64_t maximum) {
    std::string text(optarg);
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    return bench::parse_count(option, text, minimum, maximum);
}

std::uint32_t parse_small(const char* option, std::uint64_t minimum, std::uint64_t maximum) {
    return static_cast<std::uint32_t>(parse_count(option, minimum, maximum));
}

// What was given and means something with one method only.
struct Given {
    std::vector<const char*> rdma;
    bool device = false;
};

bool take_stream_option(int letter, Options& options) {
    switch (letter) {
    case kReceivers:
        options.receivers = static_cast<int>(parse_small("--nrx", 1, kMostRanks));
        break;
    case kTransmitters:
        options.transmitters = static_cast<int>(parse_small("--nlink", 1, kMostRanks));
        break;
    case kMethod:
        options.method = bench::parse_choice("--method", optarg, kMethods);
        break;
    case kMessageSize:
        options.message_size = parse_small("--msg-size", 1, kLargestMessage);
        break;
    case kBlocks:
        options.blocks = parse_small("--num-blks", 1, kMostSlots);
        break;
    case kMessagesPerBlock:
        options.messages_per_block = parse_small("--num-cmsgs", 1, kMostSlots);
        break;
    case kMessages:
        options.messages = parse_count("--nmsg", 1, kMostMessages);
        break;
    case kSendDelay:
        options.send_delay = parse_delay(optarg);
        break;
    case kTest:
        options.test = bench::parse_choice("--test", optarg, kTests);
        break;
    case kTimeout:
        options.timeout = bench::parse_seconds("--timeout", optarg);
        break;
    case kInjectLoss:
        options.inject_loss = parse_count("--inject-loss", 2, kMostMessages);
        break;
    case kJson:
        options.json = optarg;
        break;
    default:
        return false;
    }
    return true;
}

void take_port_option(int letter, Options& options, Given& given) {
    switch (letter) {
    case kDevice:
        options.device = optarg;
        given.device = true;
        break;
    case kQpType:
        options.qp_type = bench::parse_choice("--qp-type", optarg, kQpTypes);
        given.rdma.push_back("--qp-type");
        break;
    case kPollMode:
        options.waiting = bench::parse_choice("--poll-cq-mode", optarg, kWaitings);
        given.rdma.push_back("--poll-cq-mode");
        break;
    case kPort:
        options.port = parse_small("--port", 1, 255);
        given.rdma.push_back("--port");
        break;
    case kGidIndex:
        options.gid_index = parse_small("--gid-index", 0, 255);
        given.rdma.push_back("--gid-index");
        break;
    case kMtu:
        options.mtu = parse_small("--mtu", 256, 4096);
        given.rdma.push_back("--mtu");
        break;
    case kServiceLevel:
        options.service_level = parse_small("--sl", 0, 15);
        given.rdma.push_back("--sl");
        break;
    default:
        throw std::logic_error("an option is declared but not handled");
    }
}

void check_combination(const Options& options, const Given& given) {
    const std::string method(name_of(options.method));
    if (options.receivers > options.transmitters) {
        throw UsageError("option --nrx: " + std::to_string(options.receivers) + " receivers for " +
                         std::to_string(options.transmitters) +
                         " transmitters (--nlink): each receiver needs one at least");
    }
    if (options.method != Method::Rdma && !given.rdma.empty()) {
        throw UsageError("option " + std::string(given.rdma.front()) +
                         " is for --method rdma, not for " + method);
    }
    if (options.method == Method::Mpi && given.device) {
        throw UsageError("option --dev is for --method rdma and udp; MPI chooses its own device");
    }
    if (options.method != Method::Rdma && options.message_size < kInBandNumber) {
        throw UsageError("option --msg-size: with --method " + method +
                         " the message itself holds its number and needs at least " +
                         std::to_string(kInBandNumber) + " bytes");
    }
    if (options.method == Method::Udp && options.message_size > kLargestDatagram) {
        throw UsageError("option --msg-size: a datagram of UDP holds at most " +
                         std::to_string(kLargestDatagram) + " bytes, not " +
                         std::to_string(options.message_size));
    }
    if (std::uint64_t{options.blocks} * options.messages_per_block > kMostSlots) {
        throw UsageError("options --num-blks and --num-cmsgs: room for more than " +
                         std::to_string(kMostSlots) + " messages");
    }
}

const std::vector<option>& long_options() {
    static const std::vector<option> options = {
        {"nrx", required_argument, nullptr, kReceivers},
        {"nlink", required_argument, nullptr, kTransmitters},
        {"method", required_argument, nullptr, kMethod},
        {"qp-type", required_argument, nullptr, kQpType},
        {"msg-size", required_argument, nullptr, kMessageSize},
        {"num-blks", required_argument, nullptr, kBlocks},
        {"num-cmsgs", required_argument, nullptr, kMessagesPerBlock},
        {"nmsg", required_argument, nullptr, kMessages},
        {"send-delay", required_argument, nullptr, kSendDelay},
        {"test", required_argument, nullptr, kTest},
        {"poll-cq-mode", required_argument, nullptr, kPollMode},
        {"timeout", required_argument, nullptr, kTimeout},
        {"inject-loss", required_argument, nullptr, kInjectLoss},
        {"dev", required_argument, nullptr, kDevice},
        {"port", required_argument, nullptr, kPort},
        {"gid-index", required_argument, nullptr, kGidIndex},
        {"mtu", required_argument, nullptr, kMtu},
        {"sl", required_argument, nullptr, kServiceLevel},
        {"json", required_argument, nullptr, kJson},
        {"help", no_argument, nullptr, 'h'},
        {"version", no_argument, nullptr, 'v'},
        {nullptr, 0, nullptr, 0},
    };
    return options;
}

} // namespace

std::string_view name_of(Method method) {
    return kMethods[static_cast<std::size_t>(method)].first;
}

std::string_view name_of(QpType type) {
    return kQpTypes[static_cast<std::size_t>(type)].first;
}

std::string_view name_of(Waiting waiting) {
    return kWaitings[static_cast<std::size_t>(waiting)].first;
}

std::string_view name_of(Test test) {
    return kTests[static_cast<std::size_t>(test)].first;
}

Options parse_options(int argc, char** argv) {
    Options options;
    Given given;
    options.action = bench::read_options("rdma_stream", argc, argv, ":hv", long_options().data(),
                                         [&](int letter) {
                                             if (!take_stream_option(letter, options)) {
                                                 take_port_option(letter, options, given);
                                             }
                                         });
    if (options.action != bench::Action::Run) {
        return options;
    }
    if (optind < argc) {
        throw UsageError("\"" + std::string(argv[optind]) +
                         "\" is one word too many; see rdma_stream --help");
    }
    check_combination(options, given);
    return options;
}

void check_world_size(const Options& options, int ranks) {
    const int wanted = options.receivers + options.transmitters;
    if (ranks != wanted) {
        throw UsageError(
            std::to_string(options.receivers) + " receivers (--nrx) and " +
            std::to_string(options.transmitters) + " transmitters (--nlink) need " +
            std::to_string(wanted) + " ranks, but MPI_COMM_WORLD has " + std::to_string(ranks) +
            (ranks == 1 ? " (a launcher whose PMI is not this MPI's starts worlds of one rank)"
                        : ""));
    }
}

} // namespace rdma_stream
