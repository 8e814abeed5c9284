#include "allreduce_lab/bounds.hpp"

#include <cmath>
#include <numeric>

namespace allreduce_lab {

namespace {

constexpr double kFirstBin = 10e-6;
constexpr double kBin = 1.02;

} // namespace

void Arrivals::note(double seconds) {
    const double place = std::log(std::max(seconds / kFirstBin, 1.0)) / std::log(kBin);
    ++bins_[std::min(static_cast<std::size_t>(place), bins_.size() - 1)];
}

void Arrivals::add(const Arrivals& other) {
    for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
        bins_[bin] += other.bins_[bin];
    }
}

void Arrivals::subtract(const Arrivals& others) {
    for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
        bins_[bin] -= others.bins_[bin];
    }
}

double Arrivals::by(double share) const {
    const double wanted = share * std::accumulate(bins_.begin(), bins_.end(), 0.0);
    double count = 0.0;
    std::size_t bin = 0;
    while (bin + 1 < bins_.size() && (count += bins_[bin]) < wanted) {
        ++bin;
    }
    return kFirstBin * std::pow(kBin, static_cast<double>(bin + 1));
}

double stage_bound(const Arrivals& arrivals, double typical, double loss, double most) {
    constexpr double kLeast = 1.04;
    return std::clamp(arrivals.by(1 - loss), kLeast * typical / 2,
                      std::max(kLeast, most) * typical / 2);
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

} // namespace allreduce_lab
