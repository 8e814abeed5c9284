#include "mpi_matmul/requirement.hpp"

#include "common/arguments.hpp"
#include "mpi_matmul/memory.hpp"
#include "mpi_matmul/shares.hpp"

#include <array>
#include <limits>
#include <sched.h>
#include <vector>

namespace mpi_matmul {

namespace {

using bench::check;

constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

// The ranks of this rank's node.
class Node {
  public:
    explicit Node(const bench::World& world) {
        check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL,
                                  &ranks_),
              "MPI_Comm_split_type");
    }
    ~Node() { (void)MPI_Comm_free(&ranks_); }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    [[nodiscard]] MPI_Comm ranks() const { return ranks_; }

  private:
    MPI_Comm ranks_ = MPI_COMM_NULL;
};

// Needed by all ranks of this rank's node, and there. Each node has one sum.
std::array<std::uint64_t, 2> on_this_node(const bench::World& world, std::uint64_t n) {
    const Share share = shares(n, world.size)[static_cast<std::size_t>(world.rank)];
    const std::uint64_t own = needed_bytes(n, share.rows, world.rank == 0);
    const Node node(world);
    std::uint64_t together = 0;
    check(MPI_Allreduce(&own, &together, 1, MPI_UINT64_T, MPI_SUM, node.ranks()), "MPI_Allreduce");
    return {together, available_bytes().value_or(kUnknown)};
}

// Ranks of this rank's node, and the CPUs that one or another of them may run on; 0 if unknown.
std::array<int, 2> ranks_and_cpus(const bench::World& world) {
    const Node node(world);
    std::array<int, 2> found{};
    check(MPI_Comm_size(node.ranks(), found.data()), "MPI_Comm_size");
    cpu_set_t own;
    cpu_set_t any;
    CPU_ZERO(&own);
    (void)sched_getaffinity(0, sizeof own, &own);
    check(MPI_Allreduce(&own, &any, sizeof own, MPI_BYTE, MPI_BOR, node.ranks()), "MPI_Allreduce");
    found[1] = CPU_COUNT(&any);
    return found;
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

std::string oversubscription(const bench::World& world) {
    const std::array<int, 2> own = ranks_and_cpus(world);
    std::vector<std::array<int, 2>> all(world.rank == 0 ? static_cast<std::size_t>(world.size) : 0);
    check(MPI_Gather(own.data(), 2, MPI_INT, all.data(), 2, MPI_INT, 0, MPI_COMM_WORLD),
          "MPI_Gather");
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const auto [ranks, cpus] = all[rank];
        if (cpus > 0 && ranks > cpus) {
            return std::to_string(ranks) + " ranks on " + std::to_string(cpus) + " CPUs of " +
                   world.host_of_rank[rank];
        }
    }
    return {};
}

} // namespace mpi_matmul
