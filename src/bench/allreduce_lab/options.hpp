// What the user asks for.
#pragma once

#include "common/options.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allreduce_lab {

/// Ways to sum a vector over all ranks.
enum class Scheme : std::uint8_t { Ring, Bcube, TarTcp, Optireduce };

std::string_view name_of(Scheme scheme);

/// Floats of the vector of --train, its parameters and zeros; ranks whose gradients add exactly.
constexpr std::uint64_t kLearned = 16384;
constexpr int kMostLearners = 16;

/// The network that is measured in.
enum class Network : std::uint8_t { Plain, Long, Short, Elastic, Lossy };

struct Options : bench::CommonOptions {
    Options() { validate = true; } // as gloo's benchmark

    /// Floats that are summed in an iteration.
    [[nodiscard]] std::uint64_t floats() const {
        std::uint64_t all = 0;
        for (const std::uint64_t bytes : buckets) {
            all += bytes / sizeof(float);
        }
        return buckets.empty() ? elements : all;
    }
    [[nodiscard]] bool uses(Scheme scheme) const {
        return std::find(schemes.begin(), schemes.end(), scheme) != schemes.end();
    }

    std::vector<Scheme> schemes; ///< which take turns
    int size = 1;
    int rank = 0;
    std::string redis_host;
    std::uint16_t redis_port = 6199;
    std::string shared_path;
    std::string prefix = "prefix";
    std::string device;               ///< network interface
    double timeout = 10.0;            ///< seconds that one rank waits for another
    std::uint64_t elements = 262'144; ///< floats of the vector
    std::uint64_t iterations = 300;
    std::uint64_t warmup = 5;

    // Of an iteration of a training.
    std::vector<std::uint64_t> buckets; ///< bytes of each, in the order in which they are ready
    std::uint64_t compute = 0;          ///< milliseconds without communication
    bool train = false;                 ///< gradients of a network that learns by them
    std::uint64_t resync = 0;           ///< steps between two of its resyncs; 0: none
    bool relaxed = false;               ///< fewer cores than it needs will do
    std::optional<std::uint64_t> core;  ///< of the thread that communicates

    // Of the environment.
    Network environment = Network::Plain;
    std::optional<double> tail; ///< p99 over p50 of a ring's sums
    int flows = 4;              ///< processes of the guide's ring
    bool realtime = false;

    // Of the transpose allreduce, and its bounded transport.
    bool spread = true; ///< by the Hadamard transform
    std::size_t hadamard_block = 16384;
    std::size_t payload = 1452; ///< bytes of a packet, without header
    std::uint64_t bound = 0;    ///< t_B in milliseconds; 0: calibrated
    std::uint64_t calibration = 100;
    double loss_target = 0.2;     ///< percent
    double tail_target = 1.2;     ///< typical sums that one takes at most
    std::uint64_t rate = 0;       ///< Mbit/s; 0: as the socket takes it
    std::uint64_t skip_loss = 50; ///< percent
    std::uint64_t halt_loss = 50;
    std::uint64_t inject_loss = 0; ///< every so many-th packet is not sent; 0: none
};

/// The options, as they are read into `options` and told.
bench::OptionTable table_of(Options& options);

/// Throws bench::UsageError with one sentence.
Options parse_options(int argc, char** argv);

/// The text of --help.
std::string help_text();

} // namespace allreduce_lab
