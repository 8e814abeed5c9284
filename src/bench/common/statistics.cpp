#include "common/statistics.hpp"

#include <cmath>
#include <limits>
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

double coefficient_of_variation(const std::vector<double>& samples) {
    const auto count = static_cast<double>(samples.size());
    const double mean = sum(samples) / count;
    if (samples.size() < 2 || mean == 0.0) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    std::vector<double> squares;
    squares.reserve(samples.size());
    for (const double sample : samples) {
        squares.push_back((sample - mean) * (sample - mean));
    }
    return std::sqrt(sum(squares) / (count - 1)) / mean;
}

} // namespace bench
