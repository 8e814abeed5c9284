// The network that is measured in: alone, or beside other traffic.
#pragma once

#include "allreduce_lab/measure.hpp"

namespace allreduce_lab {

struct Environment {
    double idle = 0.0;       ///< p99 over p50 of a probe without other traffic
    double found = 0.0;      ///< with it; of the environment long
    double background = 0.0; ///< bytes/s of a burst, as each sender was asked to; 0: flows
    double sent = 0.0;       ///< bytes/s that it did send, of each that sends, while it does
    double alone = 0.0;      ///< bytes/s of all flows of a rank, without sums beside them
    std::string failure;     ///< why there is none; empty where there is
    int signal = 0;
};

/// Starts the other traffic and leaves it on. The rate of long bursts is searched until probes of
/// the ring show --tail; that of short ones is what would make a sum so many times as long that
/// they last through. Bursts so rare are no matter of a probe: the ring of the run shows them.
Environment begin_traffic(Meeting& meeting, const Options& options, const Work& ring,
                          Traffic& traffic);

} // namespace allreduce_lab
