// The command line of mpi_under_load.
#pragma once

#include "common/options.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mpi_under_load {

struct Options : bench::CommonOptions {
    std::vector<std::uint64_t> sizes = {1024, 65536, 1048576,
                                        4194304}; ///< bytes, rising, whole floats
    std::uint64_t iterations = 200;
    std::uint64_t warmup = 20;
};

/// The options, as they are read into `options` and told.
bench::OptionTable table_of(Options& options);

/// Throws bench::UsageError with one sentence. Every rank reads the same words and decides alike.
Options parse_options(int argc, char** argv);

/// The text of --help.
std::string help_text();

} // namespace mpi_under_load
