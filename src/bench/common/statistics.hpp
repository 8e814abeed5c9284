// Statistics of timed iterations. See docs/explanation/method.md, "Percentiles".
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

/// A percentile in thousandths, so that 99.9 is exact: {50000} is the median, {99900} is p99.9.
struct Percentile {
    unsigned thousandths;
};

/// Position in ascending order of the percentile of `count` samples: floor(count * p / 100) - 1,
/// OSU 7.4's nearest rank from below, and 0 where that would be negative.
/// Throws std::invalid_argument for no samples or a percentile above 100.
std::size_t percentile_index(std::size_t count, Percentile percentile);

/// The percentile of samples that are already in ascending order. Same errors as above.
double percentile_of_sorted(const std::vector<double>& ascending, Percentile percentile);

/// Sum of the samples, compensated (Neumaier), so that millions of small times lose nothing.
double sum(const std::vector<double>& samples);

/// Sample standard deviation over the mean; NaN for fewer than two samples or a mean of zero.
double coefficient_of_variation(const std::vector<double>& samples);

} // namespace bench
