#include "common/clock.hpp"
#include "common/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

using bench::percentile_index;
using bench::percentile_of_sorted;

TEST_CASE("a percentile is the sample at floor(n p / 100), counted from one, as OSU's") {
    CHECK(percentile_index(10000, {50'000}) == 4999);
    CHECK(percentile_index(1000, {99'000}) == 989);
    CHECK(percentile_index(10000, {99'900}) == 9989);
    CHECK(percentile_index(20, {99'000}) == 18); // floor(19.8) - 1
    CHECK(percentile_index(7, {50'000}) == 2);   // floor(3.5) - 1
}

TEST_CASE("percentiles stay inside the samples") {
    CHECK(percentile_index(10000, {100'000}) == 9999);
    CHECK(percentile_index(10000, {0}) == 0);
    CHECK(percentile_index(1, {50'000}) == 0); // OSU reads before its array here
    CHECK(percentile_index(1, {100'000}) == 0);
    CHECK(percentile_index(100, {99'900}) == 98);
}

TEST_CASE("huge sample counts do not overflow") {
    constexpr std::size_t kHuge = std::size_t{1} << 62;
    CHECK(percentile_index(kHuge, {50'000}) == kHuge / 2 - 1);
    CHECK(percentile_index(kHuge, {100'000}) == kHuge - 1);
}

TEST_CASE("percentiles of nothing, or above 100, are refused") {
    CHECK_THROWS_AS((void)percentile_index(0, {50'000}), std::invalid_argument);
    CHECK_THROWS_AS((void)percentile_index(10, {100'001}), std::invalid_argument);
}

TEST_CASE("percentiles of values") {
    const std::vector<double> ascending = {1, 2, 3, 4, 5, 6, 7, 8, 9, 100};
    CHECK(percentile_of_sorted(ascending, {50'000}) == 5);
    CHECK(percentile_of_sorted(ascending, {90'000}) == 9);
    CHECK(percentile_of_sorted(ascending, {99'000}) == 9);
    CHECK(percentile_of_sorted(ascending, {100'000}) == 100);
}

TEST_CASE("a sum loses nothing to a large sample") {
    std::vector<double> samples = {1e16};
    samples.insert(samples.end(), 1000, 1.0);
    samples.push_back(-1e16);
    CHECK(bench::sum(samples) == 1000.0);
    CHECK(bench::sum({}) == 0.0);
    CHECK(bench::sum({0.5, 0.25}) == 0.75);
}

TEST_CASE("the spread is a share of the mean") {
    CHECK(bench::coefficient_of_variation({9.0, 10.0, 11.0}) == doctest::Approx(0.1));
    CHECK(bench::coefficient_of_variation({5.0, 5.0}) == 0.0);
    CHECK(std::isnan(bench::coefficient_of_variation({5.0})));
    CHECK(std::isnan(bench::coefficient_of_variation({})));
    CHECK(std::isnan(bench::coefficient_of_variation({-1.0, 1.0})));
}

TEST_CASE("the clock's cost is per read and undisturbed by a pause") {
    double now = 0.0;
    int reads = 0;
    const double cost = bench::clock_overhead([&] {
        now += ++reads % 4000 == 0 ? 1.0 : 25e-9; // every 4000th read, something else ran
        return now;
    });
    CHECK(cost == doctest::Approx(25e-9));
}
