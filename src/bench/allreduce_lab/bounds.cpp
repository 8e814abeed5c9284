#include "allreduce_lab/bounds.hpp"

#include "common/statistics.hpp"

namespace allreduce_lab {

double stage_bound(std::vector<double> samples, double cap) {
    std::sort(samples.begin(), samples.end());
    return std::min(bench::percentile_of_sorted(samples, {95'000}),
                    cap * bench::percentile_of_sorted(samples, {50'000}));
}

void EarlyEnd::note(double median, double loss) {
    constexpr double kOld = 0.95;
    constexpr double kMuch = 1e-3;
    constexpr double kLittle = 1e-4;
    constexpr double kLeast = 0.01;
    constexpr double kMost = 0.5;
    typical_ = told_ ? kOld * typical_ + (1 - kOld) * median : median;
    told_ = true;
    if (loss > kMuch) {
        share_ = std::min(2 * share_, kMost);
    } else if (loss < kLittle) {
        share_ = std::max(share_ - kLeast, kLeast);
    }
}

void Rate::note(double delay) {
    constexpr double kSteps = 100.0; // of the largest rate
    constexpr double kFall = 0.5;
    constexpr double kLeast = 1e-2;
    if (delay < low_) {
        rate_ = std::min(rate_ + most_ / kSteps, most_);
    } else if (delay > high_) {
        rate_ = std::max(rate_ * (1 - kFall * (1 - high_ / delay)), most_ * kLeast);
    }
}

} // namespace allreduce_lab
