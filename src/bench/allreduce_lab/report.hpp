// What rank 0 says in the end.
#pragma once

#include "allreduce_lab/measure.hpp"
#include "allreduce_lab/transport.hpp"

#include <string>
#include <vector>

namespace allreduce_lab {

/// Of a bounded transport.
struct Bounded {
    double bound; ///< t_B in seconds
    double rate;  ///< bytes/s of this rank's sender in the end, 0 if it is not paced
    Odd odd;      ///< of all ranks
};

/// Prints the table and writes the JSON; the exit code. `clock_overhead` in seconds; `bounded` is
/// none for the other schemes.
int tell(Options& options, const Result& result, const std::vector<std::string>& hosts,
         double clock_overhead, const Bounded* bounded);

} // namespace allreduce_lab
