// The command line of nccl_probe.
#pragma once

#include "common/options.hpp"
#include "nccl_probe/collectives.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nccl_probe {

/// NCCL's way through the ranks; Auto leaves it to NCCL.
enum class Scheme { Auto, Ring, Tree };

std::string_view scheme_name(Scheme scheme);

struct Options : bench::CommonOptions {
    const Collective* collective = nullptr;
    std::string size_range; ///< as given
    std::uint64_t minimum_size = 8;
    std::uint64_t maximum_size = std::uint64_t{4} << 20U;
    std::uint64_t iterations = 10;      ///< samples
    std::uint64_t warmup = 2;           ///< samples before them
    std::uint64_t batch = 20;           ///< operations of a sample, one launched after the other
    std::vector<std::uint64_t> buckets; ///< bytes of each, as they get ready; none for the sweep
    std::uint64_t compute = 0;          ///< milliseconds of an iteration without communication
    Scheme scheme = Scheme::Auto;
    std::uint64_t time_limit = 30; ///< seconds that an operation, or NCCL's start, may take
    std::optional<unsigned> gpu;
    bool share_gpu = false;

    /// Floats of a block for each size of the sweep, which doubles; of all buckets, if there are.
    [[nodiscard]] std::vector<std::size_t> counts(int ranks) const;
};

/// The options, as they are read into `options` and told.
bench::OptionTable table_of(Options& options);

/// Throws bench::UsageError with one sentence. Every rank reads the same words and decides alike.
Options parse_options(int argc, char** argv);

/// Throws bench::UsageError if the collective cannot run with so many ranks.
void check_ranks(const Options& options, int ranks);

/// What NCCL_ALGO must be for that version of NCCL; empty to leave it as it is.
std::string algorithm(const Options& options, int version);

/// The text of --help.
std::string help_text();

} // namespace nccl_probe
