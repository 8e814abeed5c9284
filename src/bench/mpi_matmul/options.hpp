// The command line of mpi_matmul.
#pragma once

#include "common/options.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace mpi_matmul {

enum class Mode { Blocking, Nonblocking, Collective };

std::string_view mode_name(Mode mode);

struct Options : bench::CommonOptions {
    std::vector<std::uint64_t> orders = {2000, 4000, 6000, 8000, 10000}; ///< rising
    Mode mode = Mode::Blocking;
    std::uint64_t repetitions = 10;
    std::uint64_t warmup = 1;
    std::uint64_t largest_count = std::numeric_limits<int>::max();
};

/// The options, as they are read into `options` and told.
bench::OptionTable table_of(Options& options);

/// Throws bench::UsageError with one sentence. Every rank reads the same words and decides alike.
Options parse_options(int argc, char** argv);

/// The text of --help.
std::string help_text();

} // namespace mpi_matmul
