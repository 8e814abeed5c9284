// What the user asks for.
#pragma once

#include "common/options.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace allreduce_lab {

/// Ways to sum a vector over all ranks. The last six are those of gloo's own benchmark.
enum class Scheme : std::uint8_t {
    Ring,
    Bcube,
    TarTcp,
    Optireduce,
    NewRing,
    NewBcube,
    LegacyRing,
    LegacyRingChunked,
    LegacyHalvingDoubling,
    LegacyBcube
};

std::string_view name_of(Scheme scheme);

struct Options : bench::CommonOptions {
    Options() { validate = true; } // as gloo's benchmark

    Scheme scheme = Scheme::Ring;
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
    int base = 2;

    // Of the transpose allreduce, and its bounded transport.
    bool spread = true; ///< by the Hadamard transform
    std::size_t hadamard_block = 16384;
    std::size_t payload = 1400; ///< bytes of a packet, without header
    std::uint64_t bound = 0;    ///< t_B in milliseconds; 0: calibrated
    std::uint64_t calibration = 100;
    std::uint64_t bound_cap = 300; ///< percent of the median
    std::uint64_t rate = 0;        ///< Mbit/s; 0: as the socket takes it
    std::uint64_t rtt_low = 1000;  ///< microseconds
    std::uint64_t rtt_high = 10'000;
    std::uint64_t skip_loss = 10; ///< percent
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
