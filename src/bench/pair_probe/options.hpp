// The command line of pair_probe.
#pragma once

#include "common/options.hpp"

#include <string>

namespace pair_probe {

struct Options : bench::CommonOptions {
    std::string steer;    ///< command that says the pairs of each round
    double seconds = 2.0; ///< of a round
    bool nccl = false;    ///< NCCL carries the data, between a GPU of each rank
};

/// The options, as they are read into `options` and told.
bench::OptionTable table_of(Options& options);

/// Throws bench::UsageError with one sentence. Every rank reads the same words and decides alike.
Options parse_options(int argc, char** argv);

/// The text of --help.
std::string help_text();

} // namespace pair_probe
