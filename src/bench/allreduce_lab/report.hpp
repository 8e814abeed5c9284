// What rank 0 says in the end.
#pragma once

#include "allreduce_lab/measure.hpp"

#include <string>
#include <vector>

namespace allreduce_lab {

/// Prints the table and writes the JSON; the exit code. `clock_overhead` in seconds.
int tell(Options& options, const Result& result, const std::vector<std::string>& hosts,
         double clock_overhead);

} // namespace allreduce_lab
