#include "mpi_probe/patterns.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace mpi_probe;

namespace {

constexpr std::size_t kCount = 1000;
const std::vector<ElementType> kElements = {ElementType::Char, ElementType::Int,
                                            ElementType::Float};

std::vector<char> filled(ElementType type, const Origin& origin) {
    std::vector<char> data(kCount * element_size(type));
    fill_pattern(data.data(), kCount, type, origin);
    return data;
}

} // namespace

TEST_CASE("a pattern matches itself and nothing else") {
    for (const ElementType type : kElements) {
        const std::vector<char> data = filled(type, {0, 1, 5});
        CHECK(check_pattern(data.data(), kCount, type, {0, 1, 5}, 0).count == 0);
        CHECK(check_pattern(data.data(), kCount, type, {1, 0, 5}, 0).count == kCount);
        CHECK(check_pattern(data.data(), kCount, type, {0, 1, 6}, 0).count == kCount);
        CHECK(check_pattern(data.data(), kCount, type, {0, 2, 5}, 0).count == kCount);
    }
}

TEST_CASE("one wrong element is found and named") {
    for (const ElementType type : kElements) {
        for (const std::size_t index : {std::size_t{0}, std::size_t{123}, kCount - 1}) {
            std::vector<char> data = filled(type, {0, 1, 5});
            corrupt_element(data.data(), index, type);
            const Mismatch found = check_pattern(data.data(), kCount, type, {0, 1, 5}, 7);
            CHECK(found.count == 1);
            CHECK(found.index == index + 7);
            CHECK(found.expected != found.found);
        }
    }
}

TEST_CASE("data shifted by a power of two is wrong everywhere") {
    for (const ElementType type : kElements) {
        std::vector<char> data = filled(type, {0, 1, 5});
        for (std::size_t shift = 1; shift < kCount; shift *= 2) {
            const char* shifted = data.data() + shift * element_size(type);
            CHECK(check_pattern(shifted, kCount - shift, type, {0, 1, 5}, 0).count ==
                  kCount - shift);
        }
    }
}

TEST_CASE("data that never arrived is wrong everywhere") {
    for (const ElementType type : kElements) {
        std::vector<char> data(kCount * element_size(type));
        fill_poison(data.data(), kCount, type);
        CHECK(check_pattern(data.data(), kCount, type, {0, 1, 5}, 0).count == kCount);
    }
}

TEST_CASE("sums over the ranks are checked element by element, from any first element") {
    for (const int ranks : {2, 4, 42, 43, 64, 300}) {
        CAPTURE(ranks);
        const SumPattern pattern(ElementType::Char, ranks);
        std::vector<signed char> sums(kCount);
        for (std::size_t index = 0; index < kCount; ++index) {
            int total = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                total += pattern.contribution(index, rank, 9);
            }
            REQUIRE(total <= 127);
            sums[index] = static_cast<signed char>(total);
        }
        CHECK(pattern.check(sums.data(), kCount, 0, 9).count == 0);
        CHECK(pattern.check(sums.data() + 77, kCount - 77, 77, 9).count == 0);
        sums[500] = static_cast<signed char>(sums[500] + 1);
        CHECK(pattern.check(sums.data(), kCount, 0, 9).count == 1);
        CHECK(pattern.check(sums.data(), kCount, 0, 9).index == 500);
    }
}

TEST_CASE("what a rank sends is its contribution") {
    const SumPattern pattern(ElementType::Float, 4);
    std::vector<float> data(kCount);
    pattern.fill(data.data(), kCount, 2, 3);
    for (std::size_t index = 0; index < kCount; ++index) {
        REQUIRE(data[index] == static_cast<float>(pattern.contribution(index, 2, 3)));
    }
}

TEST_CASE("a sum that lacks one rank is wrong") {
    for (const ElementType type : kElements) {
        const SumPattern pattern(type, 2);
        std::vector<char> data(kCount * element_size(type));
        pattern.fill(data.data(), kCount, 0, 3);
        CHECK(pattern.check(data.data(), kCount, 0, 3).count == kCount);
    }
}

TEST_CASE("mismatches add up and the first stays") {
    Mismatch total;
    add_mismatches(total, {});
    CHECK(total.count == 0);
    add_mismatches(total, {2, 10, 1.0, 0.0});
    add_mismatches(total, {3, 20, 1.0, 0.0});
    CHECK(total.count == 5);
    CHECK(total.index == 10);
}
