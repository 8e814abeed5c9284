#include "allreduce_lab/vectors.hpp"

#include <algorithm>
#include <cmath>

namespace allreduce_lab {

namespace {

// -512 to 511, without a pattern that a shifted or repeated part would fit into.
float element(Turn turn, int rank, std::size_t index) {
    constexpr std::uint64_t kGolden = 0x9E37'79B9'7F4A'7C15;
    constexpr std::uint64_t kMix = 0xBF58'476D'1CE4'E5B9;
    constexpr int kHigh = 54;
    constexpr int kHalf = 512;
    std::uint64_t bits = turn.seed * kMix + turn.iteration;
    bits = (bits * kMix + static_cast<std::uint64_t>(rank)) * kMix + index * kGolden;
    bits = (bits ^ (bits >> 30U)) * kMix;
    return static_cast<float>(static_cast<int>(bits >> kHigh) - kHalf);
}

} // namespace

void fill(float* data, std::size_t count, Turn turn, int rank) {
    for (std::size_t index = 0; index < count; ++index) {
        data[index] = element(turn, rank, index);
    }
}

Deviation compare(const float* data, std::size_t count, Turn turn, int ranks, double tolerance) {
    Deviation result;
    for (std::size_t index = 0; index < count; ++index) {
        float expected = 0.0F;
        for (int rank = 0; rank < ranks; ++rank) {
            expected += element(turn, rank, index);
        }
        const double error = std::fabs(double{data[index]} - double{expected});
        if (!result.wrong && !(error <= tolerance)) {
            result.wrong = {index, expected, data[index]};
        }
        result.error += error * error;
        result.energy += double{expected} * double{expected};
        result.peak = std::max(result.peak, error);
    }
    return result;
}

} // namespace allreduce_lab
