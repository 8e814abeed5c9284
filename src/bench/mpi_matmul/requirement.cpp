#include "mpi_matmul/requirement.hpp"

#include "common/arguments.hpp"
#include "mpi_matmul/memory.hpp"
#include "mpi_matmul/shares.hpp"

#include <array>
#include <limits>

namespace mpi_matmul {

namespace {

using bench::check;

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

// Needed by all ranks of this rank's node, and there. Each node has one sum.
std::array<std::uint64_t, 2> on_this_node(const bench::World& world, std::uint64_t n) {
    const Share share = shares(n, world.size)[static_cast<std::size_t>(world.rank)];
    const std::uint64_t own = needed_bytes(n, share.rows, world.rank == 0);
    MPI_Comm node = MPI_COMM_NULL;
    check(
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &node),
        "MPI_Comm_split_type");
    std::uint64_t together = 0;
    check(MPI_Allreduce(&own, &together, 1, MPI_UINT64_T, MPI_SUM, node), "MPI_Allreduce");
    check(MPI_Comm_free(&node), "MPI_Comm_free");
    return {together, available_bytes().value_or(kUnknown)};
}

} // namespace

void require_memory(const bench::World& world, const Options& options) {
    const std::uint64_t n = options.orders.back();
    const auto own = on_this_node(world, n);
    // The lowest rank whose node has too little tells the others.
    const int candidate = own[0] > own[1] ? world.rank : world.size;
    int witness = world.size;
    check(MPI_Allreduce(&candidate, &witness, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD),
          "MPI_Allreduce");
    if (witness == world.size) {
        return;
    }
    std::array<std::uint64_t, 2> told = own;
    check(MPI_Bcast(told.data(), 2, MPI_UINT64_T, witness, MPI_COMM_WORLD), "MPI_Bcast");
    throw bench::UsageError("N " + std::to_string(n) + " needs " + in_words(told[0]) +
                            " on the node of rank " + std::to_string(witness) + ", which has " +
                            in_words(told[1]) +
                            " left: choose a smaller N, more nodes, or fewer ranks on each");
}

} // namespace mpi_matmul
