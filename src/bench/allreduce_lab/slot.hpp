// Where the packets of a stage are kept until they are used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace allreduce_lab {

/// What came of one stage of one bucket.
struct Slot {
    std::vector<float> data;
    std::vector<std::uint8_t> have;  ///< of each source, of each piece
    std::vector<std::uint8_t> lacks; ///< the same: contributions that it lacks
    std::vector<std::uint8_t> last;  ///< of each source
    std::vector<std::uint32_t> highest;
    std::uint64_t total = 0;
    std::uint64_t ended = 0; ///< sources whose last pieces came
    double last_time = 0.0;  ///< when the latest piece came
    bool closed = false;
    bool skips = false; ///< a sender, or this rank, lost too much of the bucket

    /// A new piece of that source, which may be among its last.
    void came(std::size_t source, bool is_last, double time) {
        ++total;
        last_time = time;
        ended += is_last && last[source] == 0 ? 1 : 0;
        last[source] |= is_last ? 1 : 0;
    }

    void clear() {
        std::fill(have.begin(), have.end(), std::uint8_t{0});
        std::fill(last.begin(), last.end(), std::uint8_t{0});
        std::fill(highest.begin(), highest.end(), 0U);
        total = ended = 0;
        closed = skips = false;
    }
};

} // namespace allreduce_lab
