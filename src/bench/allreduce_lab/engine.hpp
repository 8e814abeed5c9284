// A scheme, with all that it needs.
#pragma once

#include "allreduce_lab/transport.hpp"

#include <memory>
#include <vector>

namespace allreduce_lab {

struct Engine {
    std::unique_ptr<Transport> transport; ///< of the transpose allreduces
    std::unique_ptr<Allreduce> allreduce;
    UdpTransport* bounded = nullptr; ///< the transport, with optireduce
    double bound = 0.0;              ///< its t_B, in seconds
};

/// Calibrates t_B for optireduce, unless it is given: --calibration sums of the largest bucket over
/// TCP, stage_bound() of each stage, and the largest of both stages and all ranks.
Engine engine(Meeting& meeting, const Options& options, const Context& context, in_addr address,
              const std::vector<Bucket>& buckets);

} // namespace allreduce_lab
