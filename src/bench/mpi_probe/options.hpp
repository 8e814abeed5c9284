// The command line of mpi_probe: OSU's option letters and this program's own long options.
#pragma once

#include "common/gpu/memory.hpp"
#include "common/options.hpp"
#include "mpi_probe/benchmarks.hpp"
#include "mpi_probe/patterns.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpi_probe {

/// Iterations and warm-up of one size, before a time budget shortens them.
struct Rounds {
    std::uint64_t iterations;
    std::uint64_t warmup;
};

/// What of a buffer on the GPU MPI is given: its own address, or a copy in pinned host memory.
enum class Path { Aware, Staged };

struct Options : bench::CommonOptions {
    const Benchmark* benchmark = nullptr;
    std::string size_range;                  ///< as given
    std::optional<std::uint64_t> iterations; ///< as given
    std::optional<std::uint64_t> warmup;
    std::uint64_t minimum_size = 1;
    std::uint64_t maximum_size = 0;
    Rounds small{0, 0};
    Rounds large{0, 0}; ///< above 8192 bytes, as OSU's LARGE_MESSAGE_SIZE
    int window = 64;
    ElementType type = ElementType::Char;
    bool full = false;
    bench::gpu::Memory buffer = bench::gpu::Memory::Host;
    Path path = Path::Aware;
    std::optional<unsigned> gpu;       ///< as given
    std::vector<unsigned> percentiles; ///< columns of the table

    [[nodiscard]] bool uses_gpu() const { return bench::gpu::is_on_gpu(buffer); }

    [[nodiscard]] const Rounds& rounds(std::uint64_t size) const;

    /// The sizes of the sweep in bytes; barrier has the single size 0.
    [[nodiscard]] std::vector<std::uint64_t> sizes() const;
};

const char* type_name(ElementType type);

/// The options, as they are read into `options` and told.
bench::OptionTable table_of(Options& options);

/// Throws bench::UsageError with one sentence. Every rank reads the same words and decides alike.
Options parse_options(int argc, char** argv);

/// The text of --help.
std::string help_text();

/// Throws bench::UsageError if the benchmark cannot run with so many ranks.
void check_world_size(const Benchmark& benchmark, int ranks);

} // namespace mpi_probe
