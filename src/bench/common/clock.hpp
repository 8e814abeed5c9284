// What one read of a clock costs. See docs/explanation/method.md, "Clock".
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace bench {

/// Seconds of a clock that never goes back.
inline double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Cost of one call of `now` in seconds, as `now` returns: the smallest mean of several batches,
/// because whatever disturbs a batch can only add to it.
template <class Now>
double clock_overhead(Now now) {
    constexpr int kBatches = 20;
    constexpr int kReads = 1000;
    double best = std::numeric_limits<double>::infinity();
    for (int batch = 0; batch < kBatches; ++batch) {
        const double start = now();
        double end = start;
        for (int read = 0; read < kReads; ++read) {
            end = now();
        }
        best = std::min(best, (end - start) / kReads);
    }
    return best;
}

} // namespace bench
