// A scheme, with all that it needs.
#pragma once

#include "allreduce_lab/measure.hpp"
#include "allreduce_lab/transport.hpp"

#include <memory>
#include <stdexcept>
#include <vector>

namespace allreduce_lab {

/// A rank was told to end before its sums began. All ranks throw it.
class Interrupted : public std::runtime_error {
  public:
    explicit Interrupted(int which) : std::runtime_error("interrupted"), signal(which) {}
    int signal;
};

/// t_B in seconds, and what the first and the second half of the calibration alone would make of
/// it.
struct Bound {
    double seconds = 0.0;
    std::vector<double> halves;
};

struct Engine {
    std::unique_ptr<Transport> transport; ///< of the transpose allreduces
    std::unique_ptr<Allreduce> allreduce;
    UdpTransport* bounded = nullptr; ///< the transport, with optireduce
    Bound bound;                     ///< its t_B
};

/// Calibrates t_B for optireduce, unless it is given: stage_bound() of --calibration sums of the
/// largest bucket, in turns with the `others`, as they are measured: what flows get from a
/// link they keep. That is over the same transport with a bound that is
/// never reached. Throws Interrupted.
Engine engine(Meeting& meeting, const Options& options, Scheme scheme, const Context& context,
              in_addr address, const std::vector<Bucket>& buckets,
              const std::vector<Work>& others = {});

} // namespace allreduce_lab
