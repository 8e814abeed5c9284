#include "allreduce_lab/vectors.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace {

using namespace allreduce_lab;

std::vector<float> summed(std::size_t count, Turn turn, int ranks) {
    std::vector<float> total(count, 0.0F);
    std::vector<float> own(count);
    for (int rank = 0; rank < ranks; ++rank) {
        fill(own.data(), count, turn, rank);
        for (std::size_t index = 0; index < count; ++index) {
            total[index] += own[index];
        }
    }
    return total;
}

} // namespace

TEST_CASE("the sum of the ranks' vectors is what it must be, exactly, up to 255 ranks") {
    for (const int ranks : {1, 2, 7, 255}) {
        const Turn turn{3, 17};
        std::vector<float> total = summed(500, turn, ranks);
        CHECK_FALSE(compare(total.data(), total.size(), turn, ranks, 0.0).wrong);
        CHECK(compare(total.data(), total.size(), turn, ranks, 0.0).error == 0.0);
        total[123] += 1.0F;
        const Deviation deviation = compare(total.data(), total.size(), turn, ranks, 0.0);
        REQUIRE(deviation.wrong);
        CHECK(deviation.wrong->index == 123);
        CHECK(deviation.wrong->found - deviation.wrong->expected == 1.0F);
        CHECK(deviation.peak == 1.0);
        CHECK_FALSE(compare(total.data(), total.size(), turn, ranks, 1.0).wrong);
    }
}

TEST_CASE("another sum, another seed and a shifted vector are found wrong, and so is NaN") {
    std::vector<float> total = summed(100, {3, 17}, 4);
    CHECK(compare(total.data(), 100, {3, 18}, 4, 0.0).wrong);
    CHECK(compare(total.data(), 100, {4, 17}, 4, 0.0).wrong);
    CHECK(compare(total.data() + 1, 99, {3, 17}, 4, 0.0).wrong);
    total[5] = std::nanf("");
    CHECK(compare(total.data(), 100, {3, 17}, 4, 1e9).wrong->index == 5);
}
