// Where and how urgently the communicating thread runs.
#pragma once

#include "allreduce_lab/options.hpp"

namespace allreduce_lab {

/// Puts this thread, and those that it starts, where --tr-threads-offset says, and before other
/// work with --realtime. Returns whether the latter was allowed. Throws bench::UsageError for a
/// core that is not there, or that the training has (taskset), and for fewer than four cores.
bool take_place(const Options& options);

} // namespace allreduce_lab
