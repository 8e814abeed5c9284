// What rank 0 says in the end.
#pragma once

#include "allreduce_lab/engine.hpp"
#include "allreduce_lab/environment.hpp"
#include "allreduce_lab/transport.hpp"

#include <string>
#include <vector>

namespace allreduce_lab {

/// Of a bounded transport.
struct Bounded {
    Bound bound;
    double last; ///< t_B in seconds at the end, longer where sums were skipped
    Odd odd;     ///< of all ranks
};

/// Of one scheme.
struct Told {
    Scheme scheme;
    const Result& result;
    std::optional<Bounded> bounded; ///< of the one whose transport is
};

/// Where it ran.
struct Circumstances {
    const std::vector<std::string>& hosts;
    double clock_overhead; ///< seconds
    bool realtime;
    const std::optional<Environment>& environment;
};

/// Prints the table and writes the JSON; the exit code.
int tell(Options& options, const Circumstances& where, const std::vector<Told>& told,
         const std::string& failure, int signal);

} // namespace allreduce_lab
