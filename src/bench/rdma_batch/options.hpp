// The command line of rdma_batch: MORI-IO's options, and this program's own.
#pragma once

#include "common/options.hpp"
#include "common/verbs/kinds.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdma_batch {

using bench::verbs::Waiting;

enum class Operation : std::uint8_t { Read, Write };
constexpr bench::Choices<Operation, 2> kOperations = {
    {{"read", Operation::Read}, {"write", Operation::Write}}};

/// Which columns the tables have. Short and Seed are those of MORI-IO's two tables; Full adds
/// median, 99th percentile and iterations.
enum class Columns : std::uint8_t { Short, Seed, Full };

/// A memory node to bind to: none, that of the device, or a number.
struct Numa {
    enum class Kind : std::uint8_t { None, OfDevice, Node };
    Kind kind = Kind::None;
    unsigned node = 0;
};

/// One row of the sweep: so many transfers of so many bytes make a batch.
struct Shape {
    std::uint64_t size;
    std::uint64_t batch;
};

struct Options : bench::CommonOptions {
    Options() { validate = true; }

    Operation operation = Operation::Read;
    bool all = false;
    bool all_batch = false;
    std::vector<std::uint64_t> sizes;   ///< of --all
    std::vector<std::uint64_t> batches; ///< of --all-batch
    std::uint64_t buffer_size = 32768;
    std::uint64_t batch = 256;
    bool batch_transfer = false;
    bool session = false;
    unsigned initiators = 1;
    unsigned targets = 1;
    unsigned queue_pairs = 1;
    unsigned workers = 1;
    Waiting poll = Waiting::Polling;
    std::uint64_t iterations = 128;
    std::uint64_t warmup = 1;
    /// NAME[:PORT] of each of this end's devices; empty: the active ports in the system's order.
    std::vector<std::string> devices;
    unsigned port = 1; ///< of devices that are named without one
    std::optional<unsigned> gid_index;
    unsigned mtu = 0; ///< bytes; 0: the port's
    unsigned service_level = 0;
    unsigned traffic_class = 0;
    unsigned queue_depth = 1024;
    unsigned chain = 64;
    std::optional<unsigned> reads_in_flight; ///< none: as many as both devices can
    unsigned inline_bytes = 0;
    std::uint64_t most_memory = std::uint64_t{1} << 29;
    Numa numa;
    Columns columns = Columns::Full;
    std::uint16_t tcp_port = 18515;
    double patience = 10.0; ///< seconds to wait for the other end
    std::string host;       ///< the target's; empty: this is the target
    std::string own_host;   ///< address of this end; empty: any
    /// What was given and changes nothing, one sentence each.
    std::vector<std::string> notes;

    /// Devices of this end.
    [[nodiscard]] unsigned own_devices() const { return host.empty() ? targets : initiators; }
    /// The rows of the sweep in their order.
    [[nodiscard]] std::vector<Shape> shapes() const;
};

/// The options, as they are read into `options` and told.
bench::OptionTable table_of(Options& options);

/// Throws bench::UsageError with one sentence.
Options parse_options(int argc, char** argv);

/// The text of --help.
std::string help_text();

} // namespace rdma_batch
