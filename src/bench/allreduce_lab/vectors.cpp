#include "allreduce_lab/vectors.hpp"

#include <algorithm>
#include <cmath>

namespace allreduce_lab {

namespace {

// -512 to 511, without a pattern that a shifted or repeated part would fit into.
float element(Turn turn, int rank, std::size_t index) {
    if (turn.given != nullptr) {
        return turn.given[static_cast<std::size_t>(rank) * turn.count + index];
    }
    constexpr std::uint64_t kGolden = 0x9E37'79B9'7F4A'7C15;
    constexpr std::uint64_t kMix = 0xBF58'476D'1CE4'E5B9;
    constexpr int kHigh = 54;
    constexpr int kHalf = 512;
    std::uint64_t bits = turn.seed * kMix + turn.iteration;
    bits = (bits * kMix + static_cast<std::uint64_t>(rank)) * kMix + index * kGolden;
    bits = (bits ^ (bits >> 30U)) * kMix;
    return static_cast<float>(static_cast<int>(bits >> kHigh) - kHalf);
}

float sum_of_elements(Turn turn, int ranks, std::size_t index) {
    float sum = 0.0F;
    for (int rank = 0; rank < ranks; ++rank) {
        sum += element(turn, rank, index);
    }
    return sum;
}

template <class Expect>
Deviation compare_with(const float* found, std::size_t count, double tolerance, Expect expect) {
    Deviation result;
    for (std::size_t index = 0; index < count; ++index) {
        const double expected = expect(index);
        const double error = std::fabs(double{found[index]} - expected);
        if (!result.wrong && !(error <= tolerance)) {
            result.wrong = {index, expected, double{found[index]}};
        }
        result.error += error * error;
        result.energy += expected * expected;
        result.peak = std::max(result.peak, error);
    }
    result.exact = count;
    return result;
}

Deviation placed(Deviation deviation, std::size_t first) {
    if (deviation.wrong) {
        deviation.wrong->index += first;
    }
    return deviation;
}

} // namespace

void fill(const Stretch& part, Turn turn, int rank) {
    for (std::size_t index = 0; index < part.count; ++index) {
        part.data[index] = element(turn, rank, part.first + index);
    }
}

void fill_with_sum(const Stretch& part, Turn turn, int ranks) {
    for (std::size_t index = 0; index < part.count; ++index) {
        part.data[index] = sum_of_elements(turn, ranks, part.first + index);
    }
}

Deviation compare(const float* found, const float* expected, std::size_t count, double tolerance) {
    return compare_with(found, count, tolerance,
                        [=](std::size_t index) { return double{expected[index]}; });
}

Deviation compare(const Stretch& part, Turn turn, int ranks, double tolerance) {
    return placed(compare_with(part.data, part.count, tolerance,
                               [=](std::size_t index) {
                                   return double{sum_of_elements(turn, ranks, part.first + index)};
                               }),
                  part.first);
}

Deviation compare_own(const Stretch& part, Turn turn, int rank) {
    return placed(compare_with(part.data, part.count, 0.0,
                               [=](std::size_t index) {
                                   return double{element(turn, rank, part.first + index)};
                               }),
                  part.first);
}

void add(Deviation& total, const Deviation& part) {
    total.wrong = total.wrong ? total.wrong : part.wrong;
    total.error += part.error;
    total.energy += part.energy;
    total.peak = std::max(total.peak, part.peak);
    total.exact += part.exact;
    total.lacking.expected += part.lacking.expected;
    total.lacking.found += part.lacking.found;
    total.lacking.count += part.lacking.count;
}

} // namespace allreduce_lab
