// What the user asks for.
#pragma once

#include "common/options.hpp"
#include "common/verbs/kinds.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace rdma_stream {

/// How messages travel.
enum class Method { Rdma, Mpi, Udp };
constexpr bench::Choices<Method, 3> kMethods = {
    {{"rdma", Method::Rdma}, {"mpi", Method::Mpi}, {"udp", Method::Udp}}};

using bench::verbs::QpType;
using bench::verbs::Waiting;

/// What is sent, and whether it is looked at: nothing for throughput; bytes of 1; bytes that count
/// up, other in each message.
enum class Test { Throughput, Ones, Increment };
constexpr bench::Choices<Test, 3> kTests = {
    {{"throughput", Test::Throughput}, {"ones", Test::Ones}, {"increment", Test::Increment}}};

struct Options : bench::CommonOptions {
    int receivers = 1;    ///< --nrx
    int transmitters = 1; ///< --nlink
    Method method = Method::Rdma;
    QpType qp_type = QpType::Rc;
    Waiting waiting = Waiting::Event;
    Test test = Test::Throughput;
    std::uint32_t message_size = 65536; ///< bytes
    std::uint32_t blocks = 10;
    std::uint32_t messages_per_block = 100;
    std::uint64_t messages = 100'000; ///< of each transmitter
    double send_delay = 0.0;          ///< seconds from one message to the next; 0: none
    double timeout = 10.0;            ///< seconds without a message after which a side gives up
    std::uint64_t inject_loss = 0;    ///< every so many-th message is not sent; 0: none
    std::string device;               ///< RDMA device, or network interface for udp
    unsigned port = 1;
    std::optional<unsigned> gid_index;
    unsigned mtu = 0;
    unsigned service_level = 0;
    unsigned traffic_class = 0;

    /// Messages that a side has room for.
    [[nodiscard]] std::uint32_t slots() const { return blocks * messages_per_block; }
    /// Seconds that a receiver waits for what may still be on its way after the transmitter ended.
    [[nodiscard]] double drain() const { return timeout / 5; }
};

/// The options, as they are read into `options` and told.
bench::OptionTable table_of(Options& options);

/// Throws bench::UsageError with one sentence. Every rank reads the same words and decides alike.
Options parse_options(int argc, char** argv);

/// The text of --help.
std::string help_text();

/// Throws bench::UsageError if the job has not one rank for each receiver and transmitter.
void check_world_size(const Options& options, int ranks);

} // namespace rdma_stream
