#include "rdma_stream/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

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
constexpr std::array<const char*, 6> kOfVerbs = {"qp-type",   "poll-cq-mode", "port",
                                                 "gid-index", "mtu",          "sl"};
constexpr double kLongestDelay = 60e6; // us

double parse_delay(const std::string& option, const std::string& text) {
    double value = 0.0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value) || value < 0.0 ||
        value > kLongestDelay) {
        throw UsageError("option " + option + ": \"" + text +
                         "\" is not a number of microseconds from 0 to 60000000");
    }
    return value * kMicro;
}

void check_combination(const Options& options, const bench::OptionTable& table) {
    const std::string method(bench::word_of(kMethods, options.method));
    if (options.receivers > options.transmitters) {
        throw UsageError("option --nrx: " + std::to_string(options.receivers) + " receivers for " +
                         std::to_string(options.transmitters) +
                         " transmitters (--nlink): each receiver needs one at least");
    }
    for (const char* const name : kOfVerbs) {
        if (options.method != Method::Rdma && table.given(name)) {
            throw UsageError("option --" + std::string(name) + " is for --method rdma, not for " +
                             method);
        }
    }
    if (options.method == Method::Mpi && table.given("dev")) {
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
    check_common(options);
}

} // namespace

bench::OptionTable table_of(Options& options) {
    bench::OptionTable table("rdma_stream");
    table.section("Streams");
    table.count("nrx=N", options.receivers, {1, kMostRanks}, "receivers");
    table.count("nlink=N", options.transmitters, {1, kMostRanks}, "transmitters, at least as many");
    table.choice("method", options.method, kMethods,
                 "SEND with immediate over verbs, messages of MPI, or datagrams");
    table.count("msg-size=BYTES", options.message_size, {1, kLargestMessage}, "of each message");
    table.count("num-cmsgs=N", options.messages_per_block, {1, kMostSlots},
                "messages that are posted at once, a block");
    table.count("num-blks=N", options.blocks, {1, kMostSlots}, "blocks that a side has room for");
    table.count("nmsg=N", options.messages, {1, kMostMessages}, "messages of each transmitter");
    table.value(
        "send-delay=US", "microseconds from one message to the next", "0: as fast as possible",
        [&options](const std::string& option, const std::string& text) {
            options.send_delay = parse_delay(option, text);
        },
        [&options](bench::JsonWriter& json) { json.value(options.send_delay / kMicro); });
    table.choice("test", options.test, kTests,
                 "content is not looked at; each byte is 1; bytes count up, from another value in "
                 "each message");
    table.seconds("timeout=SECONDS", options.timeout,
                  "without a message or completion, after which a side gives up");
    table.count("inject-loss=N", options.inject_loss, {2, kMostMessages},
                "do not send every N-th message, to see it counted", "");
    table.section("Verbs, with --method rdma");
    table.choice("qp-type", options.qp_type, bench::verbs::kQpTypes,
                 "a message of ud must fit into the MTU");
    table.choice("poll-cq-mode,poll_cq_mode", options.waiting, bench::verbs::kWaitings,
                 "spin for completions, or sleep until they come");
    table.text("dev=DEVICE", options.device,
               "RDMA device (the first with the port active); with udp a network interface");
    table.count("port=N", options.port, {1, 255}, "port of the device");
    table.count("gid-index=N", options.gid_index, {0, 255},
                "address of the port (on Ethernet the first routable one of RoCE v2)");
    table.count("mtu=BYTES", options.mtu, {256, 4096}, "256, 512, 1024, 2048 or 4096",
                "the port's active MTU");
    table.count("sl=N", options.service_level, {0, 15}, "service level");
    table.count("tclass=N", options.traffic_class, {0, 255},
                "traffic class: DSCP times 4, and ECN in the last two bits");
    add_common(table, options, "as --test increment, unless it is given");
    return table;
}

Options parse_options(int argc, char** argv) {
    return bench::parse(table_of, argc, argv,
                        [](Options& options, const bench::OptionTable& table) {
                            table.refuse_words("; see rdma_stream --help");
                            if (options.validate && !table.given("test")) {
                                options.test = Test::Increment;
                            }
                            options.validate = options.test != Test::Throughput;
                            check_combination(options, table);
                        });
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

std::string help_text() {
    Options defaults;
    return R"(Usage: mpirun -n NRX+NLINK rdma_stream --nrx NRX --nlink NLINK [options]

Streams numbered messages from transmitters to receivers, and counts what arrived.

Ranks 0 to NRX-1 receive, the others transmit: transmitter t sends to receiver t mod NRX.

)" + table_of(defaults).help() +
           R"(
Exit codes: 0 every stream came to its end, lost messages or not; 1 a side gave up, wrong content
arrived, MPI or verbs failed, or the JSON file could not be written; 2 bad options, the wrong number
of ranks, or no such device; 128 + signal after SIGINT or SIGTERM, with what was measured until then.

Examples
  mpirun -n 2 rdma_stream --nmsg 10000                        # one pair over the first RDMA device
  mpirun -n 3 rdma_stream --nlink 2 --nmsg 10000              # two streams into one receiver
  mpirun -n 2 rdma_stream --qp-type uc --msg-size 4096        # losses show: nothing is repeated
  mpirun -n 2 rdma_stream --method udp --msg-size 8192 --send-delay 100 --nmsg 10000
  mpirun -n 2 rdma_stream --method mpi --test increment --nmsg 1000
  mpirun -n 2 rdma_stream --method mpi --inject-loss 100      # must count 1 % as missed
)";
}

} // namespace rdma_stream
