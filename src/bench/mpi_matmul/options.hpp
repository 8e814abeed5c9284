// The command line of mpi_matmul.
#pragma once

#include "common/options.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace mpi_matmul {

enum class Mode { Blocking, Nonblocking, Collective };

std::string_view mode_name(Mode mode);

/// What multiplies: the host's BLAS, or cuBLAS.
enum class Compute { Cpu, Gpu };

/// How the GPU's matrices are sent: by MPI from its memory, or by way of pinned host memory.
enum class Path { Aware, Staged };

struct Options : bench::CommonOptions {
    std::vector<std::uint64_t> orders = {2000, 4000, 6000, 8000, 10000}; ///< rising
    Mode mode = Mode::Blocking;
    std::uint64_t repetitions = 10;
    std::uint64_t warmup = 1;
    std::uint64_t largest_count = std::numeric_limits<int>::max();
    Compute compute = Compute::Cpu;
    Path path = Path::Aware;
    std::optional<unsigned> gpu; ///< as given
};

/// The options, as they are read into `options` and told.
bench::OptionTable table_of(Options& options);

/// Throws bench::UsageError with one sentence. Every rank reads the same words and decides alike.
Options parse_options(int argc, char** argv);

/// The text of --help.
std::string help_text();

} // namespace mpi_matmul
