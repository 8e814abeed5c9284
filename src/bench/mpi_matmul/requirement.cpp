#include "mpi_matmul/requirement.hpp"

#include "common/arguments.hpp"
#include "common/gpu/cublas.hpp"
#include "mpi_matmul/memory.hpp"
#include "mpi_matmul/shares.hpp"

#include <array>
#include <functional>
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

// Needed together, and there: on a node, or on a GPU.
struct Balance {
    std::uint64_t needed;
    std::uint64_t available;
};

// Each node has one sum. Where MPI works on the GPUs, the host has what rank 0 checks.
Balance on_this_node(const bench::World& world, const Options& options, std::uint64_t n) {
    const Share share = shares(n, world.size)[static_cast<std::size_t>(world.rank)];
    const bool root = world.rank == 0;
    const bool aware = options.compute == Compute::Gpu && options.path == Path::Aware;
    const std::uint64_t own = aware && !root ? 0 : needed_bytes(n, share.rows, root);
    const Node node(world);
    std::uint64_t together = 0;
    check(MPI_Allreduce(&own, &together, 1, MPI_UINT64_T, MPI_SUM, node.ranks()), "MPI_Allreduce");
    return {together, available_bytes().value_or(kUnknown)};
}

// Ranks of a node that share a GPU have one sum.
Balance on_this_gpu(const bench::World& world, const Options& options,
                    const bench::gpu::Device& device, std::uint64_t n) {
    const Share share = shares(n, world.size)[static_cast<std::size_t>(world.rank)];
    const bool whole = world.rank == 0 && options.path == Path::Aware;
    const std::uint64_t own = needed_on_gpu(n, share.rows, whole) + bench::gpu::Cublas::kWorkspace;
    // By names, as an MPI may take each rank for a node of its own.
    const std::size_t place = std::hash<std::string>()(bench::own_host() + " " + device.address);
    const auto color =
        static_cast<int>(place & static_cast<std::size_t>(std::numeric_limits<int>::max()));
    MPI_Comm sharing = MPI_COMM_NULL;
    check(MPI_Comm_split(MPI_COMM_WORLD, color, world.rank, &sharing), "MPI_Comm_split");
    std::uint64_t together = 0;
    check(MPI_Allreduce(&own, &together, 1, MPI_UINT64_T, MPI_SUM, sharing), "MPI_Allreduce");
    check(MPI_Comm_free(&sharing), "MPI_Comm_free");
    return {together, bench::gpu::free_bytes()};
}

// The lowest rank with too little tells the others.
void require(const bench::World& world, std::uint64_t n, const Balance& own, const char* where,
             const char* advice) {
    const int candidate = own.needed > own.available ? world.rank : world.size;
    int witness = world.size;
    check(MPI_Allreduce(&candidate, &witness, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD),
          "MPI_Allreduce");
    if (witness == world.size) {
        return;
    }
    Balance told = own;
    check(MPI_Bcast(&told, sizeof told, MPI_BYTE, witness, MPI_COMM_WORLD), "MPI_Bcast");
    throw bench::UsageError("N " + std::to_string(n) + " needs " + in_words(told.needed) +
                            " on the " + where + " of rank " + std::to_string(witness) +
                            ", which has " + in_words(told.available) + " left: " + advice);
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
    require(world, n, on_this_node(world, options, n), "node",
            "choose a smaller N, more nodes, or fewer ranks on each");
}

void require_gpu_memory(const bench::World& world, const Options& options,
                        const bench::gpu::Device& device) {
    const std::uint64_t n = options.orders.back();
    require(world, n, on_this_gpu(world, options, device, n), "GPU",
            "choose a smaller N, or more GPUs");
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
