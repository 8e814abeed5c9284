// What a core copies at the most. See docs/how-to/references.md, "What memory allows".
#pragma once

#include "common/clock.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace bench {

/// Bytes a second that this rank copies inside its own cache, where it is fastest: the best of
/// several batches, because whatever disturbs a batch can only slow it down.
inline double copy_rate() {
    constexpr int kBatches = 20;
    constexpr int kCopies = 64;
    constexpr std::size_t kBytes = 8192;
    std::vector<char> from(kBytes, 'x');
    std::vector<char> into(kBytes);
    double best = 0;
    for (int batch = 0; batch < kBatches; ++batch) {
        const double start = steady_seconds();
        for (int copy = 0; copy < kCopies; ++copy) {
            std::memcpy(into.data(), from.data(), kBytes);
            // Each copy is made: the compiler takes both buffers for read and written.
            asm volatile("" : : "r"(from.data()), "r"(into.data()) : "memory");
        }
        best = std::max(best, kCopies * kBytes / (steady_seconds() - start));
    }
    return best;
}

} // namespace bench
