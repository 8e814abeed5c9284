// The command line of mpi_matmul.
#pragma once

#include "common/arguments.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace mpi_matmul {

enum class Mode { Blocking, Nonblocking, Collective };

std::string_view mode_name(Mode mode);

struct Options {
    bench::Action action = bench::Action::Run;
    std::vector<std::uint64_t> orders = {2000, 4000, 6000, 8000, 10000}; ///< rising
    Mode mode = Mode::Blocking;
    std::uint64_t repetitions = 10;
    std::uint64_t warmup = 1;
    std::uint64_t seed = 1;
    bool validate = false;
    bool inject = false;
    std::uint64_t largest_count = std::numeric_limits<int>::max();
    std::optional<double> time_budget; ///< seconds for each order
    std::string json;                  ///< empty: none, "-": standard output
};

/// Throws bench::UsageError with one sentence. Every rank reads the same words and decides alike.
Options parse_options(int argc, char** argv);

/// The text of --help.
std::string help_text();

} // namespace mpi_matmul
