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
};

/// The options, as they are read into `options` and told.
bench::OptionTable table_of(Options& options);

/// Throws bench::UsageError with one sentence.
Options parse_options(int argc, char** argv);

/// The text of --help.
std::string help_text();

} // namespace allreduce_lab
