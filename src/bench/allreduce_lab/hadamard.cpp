#include "allreduce_lab/hadamard.hpp"

#include <cmath>

namespace allreduce_lab {

namespace {

// 64 signs for each word (splitmix64).
void flip_signs(float* data, std::size_t count, std::uint64_t seed) {
    constexpr std::size_t kBits = 64;
    for (std::size_t index = 0; index < count; index += kBits) {
        std::uint64_t word = seed + (index / kBits + 1) * 0x9E37'79B9'7F4A'7C15;
        word = (word ^ (word >> 30U)) * 0xBF58'476D'1CE4'E5B9;
        word = (word ^ (word >> 27U)) * 0x94D0'49BB'1331'11EB;
        word ^= word >> 31U;
        for (std::size_t bit = 0; bit < kBits && index + bit < count; ++bit) {
            data[index + bit] *= (word >> bit & 1U) != 0 ? -1.0F : 1.0F;
        }
    }
}

void transform(float* data, std::size_t count, std::size_t block) {
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(block)));
    for (float* begin = data; begin < data + count; begin += block) {
        for (std::size_t half = 1; half < block; half *= 2) {
            for (std::size_t base = 0; base < block; base += 2 * half) {
                float* const low = begin + base;
                float* const high = low + half;
                for (std::size_t index = 0; index < half; ++index) {
                    const float a = low[index];
                    const float b = high[index];
                    low[index] = a + b;
                    high[index] = a - b;
                }
            }
        }
        for (std::size_t index = 0; index < block; ++index) {
            begin[index] *= scale;
        }
    }
}

} // namespace

void hadamard(float* data, std::size_t count, std::size_t block, std::uint64_t seed) {
    flip_signs(data, count, seed);
    transform(data, count, block);
}

void inverse_hadamard(float* data, std::size_t count, std::size_t block, std::uint64_t seed) {
    transform(data, count, block);
    flip_signs(data, count, seed);
}

} // namespace allreduce_lab
