// Which options go together.
#pragma once

#include "rdma_batch/options.hpp"

namespace rdma_batch {

/// What the user gave and what only one operation, or one kind of sweep, has.
struct Given {
    bool sizes = false;
    bool batches = false;
    bool buffer_size = false;
    bool batch = false;
    bool chain = false;
    bool reads = false;
    bool inlined = false;
};

/// Throws bench::UsageError for options that make no sense together.
void check_combination(const Options& options, const Given& given);

/// Adds to the options' notes what was given and changes nothing, as MORI-IO's own command lines
/// do it.
void note_unused(Options& options, const Given& given);

} // namespace rdma_batch
