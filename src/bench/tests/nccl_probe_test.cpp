#include "nccl_probe/collectives.hpp"
#include "nccl_probe/options.hpp"

#include <doctest/doctest.h>

using namespace nccl_probe;

namespace {

const Collective* named(const char* name) {
    return bench::find_named(all_collectives(), name);
}

} // namespace

TEST_CASE("bus bandwidths are those of nccl-tests") {
    const auto factor = [](const char* name) { return bus_factor(*named(name), 4); };
    CHECK(factor("allreduce") == doctest::Approx(1.5));
    CHECK(factor("reduce") == 1.0);
    CHECK(factor("bcast") == 1.0);
    CHECK(factor("allgather") == 0.75);
    CHECK(factor("reduce_scatter") == 0.75);
    CHECK(factor("alltoall") == 0.75);
    CHECK(named("sum") == nullptr);
}

TEST_CASE("a size is divided by the ranks where each has a block of it") {
    const Collective& gather = *named("allgather");
    const Collective& reduce = *named("allreduce");
    CHECK(block_count(gather, 64, 3) == 5);
    CHECK(size_of(gather, 5, 3) == 60);
    CHECK(block_count(reduce, 64, 3) == 16);
    CHECK(size_of(reduce, 16, 3) == 64);
    CHECK(block_count(gather, 8, 3) == 0);
}

TEST_CASE("NCCL is told a scheme in the words of its version") {
    Options options;
    options.collective = named("allreduce");
    CHECK(algorithm(options, 22'809).empty());
    options.scheme = Scheme::Tree;
    CHECK(algorithm(options, 22'809) == "allreduce:tree");
    CHECK(algorithm(options, 22'307) == "tree");
}
