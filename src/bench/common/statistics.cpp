#include "common/statistics.hpp"

#include <cmath>
#include <stdexcept>

namespace bench {

std::size_t percentile_index(std::size_t count, Percentile percentile) {
    constexpr std::size_t kWhole = 100'000;
    if (count == 0) {
        throw std::invalid_argument("a percentile needs at least one sample");
    }
    if (percentile.thousandths > kWhole) {
        throw std::invalid_argument("a percentile lies between 0 and 100");
    }
    // Split, because count * thousandths could overflow.
    const std::size_t rank =
        count / kWhole * percentile.thousandths + count % kWhole * percentile.thousandths / kWhole;
    return rank == 0 ? 0 : rank - 1;
}

double percentile_of_sorted(const std::vector<double>& ascending, Percentile percentile) {
    return ascending[percentile_index(ascending.size(), percentile)];
}

double sum(const std::vector<double>& samples) {
    double total = 0.0;
    double compensation = 0.0;
    for (const double sample : samples) {
        const double next = total + sample;
        if (std::fabs(total) >= std::fabs(sample)) {
            compensation += (total - next) + sample;
        } else {
            compensation += (sample - next) + total;
        }
        total = next;
    }
    return total + compensation;
}

} // namespace bench
