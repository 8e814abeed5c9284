// An environment with a tail: other traffic, so much that the p99 of a ring is so many medians.
#pragma once

#include "allreduce_lab/bursts.hpp"
#include "allreduce_lab/measure.hpp"

namespace allreduce_lab {

struct Environment {
    double idle = 0.0;       ///< p99 over p50 without other traffic
    double found = 0.0;      ///< with it
    double background = 0.0; ///< bytes/s of a burst
    std::string failure;     ///< why there is none; empty where there is
    int signal = 0;
};

/// Searches the rate of the bursts at which probes of the ring show --tail, and leaves them on.
Environment tail_environment(Meeting& meeting, const Options& options, const Work& ring,
                             Bursts& bursts);

} // namespace allreduce_lab
