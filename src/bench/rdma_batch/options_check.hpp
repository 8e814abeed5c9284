// Which options go together.
#pragma once

#include "rdma_batch/options.hpp"

namespace rdma_batch {

/// Throws bench::UsageError for options that make no sense together.
void check_combination(const Options& options, const bench::OptionTable& table);

/// Adds to the options' notes what was given and changes nothing, as MORI-IO's own command lines
/// do it.
void note_unused(Options& options, const bench::OptionTable& table);

} // namespace rdma_batch
