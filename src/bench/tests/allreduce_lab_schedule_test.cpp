#include "allreduce_lab/schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace {

using namespace allreduce_lab;

TEST_CASE("every peer gets every piece once, and never more peers than the incast at a time") {
    for (const std::uint64_t group : {1, 2, 3, 4, 9}) {
        std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
        std::uint64_t round = 0;
        for (std::uint64_t index = 0; index < 28; ++index) {
            const Sending next = sending(index, 4, 7, group);
            CHECK(next.peer < 4);
            CHECK(next.piece < 7);
            CHECK(next.peer / std::min<std::uint64_t>(group, 4) >= round);
            round = next.peer / std::min<std::uint64_t>(group, 4);
            seen.insert({next.peer, next.piece});
        }
        CHECK(seen.size() == 4 * 7);
    }
}

} // namespace
