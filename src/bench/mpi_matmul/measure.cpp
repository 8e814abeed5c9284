#include "mpi_matmul/measure.hpp"

#include "common/interrupt.hpp"
#include "mpi_matmul/freivalds.hpp"

#include <algorithm>
#include <cstdio>

namespace mpi_matmul {

namespace {

using bench::check;

// The matrices of this rank, and what poisons and checks them.
class Bench {
  public:
    Bench(const bench::World& world, const Options& options, std::uint64_t n,
          const bench::gpu::Cublas* cublas)
        : world_(world), options_(options), n_(n),
          transfers_(options.mode, n, world.rank, world.size, options.largest_count),
          place_(options, n, transfers_.own().rows, world.rank == 0, cublas),
          phases_(phases_of(options)) {
        if (is_root()) {
            freivalds_.emplace(n, options.seed);
        }
        const auto busy = std::min<std::uint64_t>(n, static_cast<std::uint64_t>(world.size));
        injects_ = options.inject_error && static_cast<std::uint64_t>(world.rank) + 1 == busy;
    }

    // The seconds of the slowest rank, on rank 0.
    Seconds repeat(bool first) {
        if (options_.validate) {
            place_.forget();
        }
        Seconds own = repeat_once(transfers_, place_, phases_, injects_ && first);
        Seconds slowest{};
        check(
            MPI_Reduce(own.data(), slowest.data(), kPhases, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD),
            "MPI_Reduce");
        return slowest;
    }

    // Rank 0: whether the product is right; says where it is not.
    bool is_right(std::uint64_t repetition) {
        const Matrices found = place_.on_host();
        const auto row = freivalds_->wrong_row(found.a, found.b, found.c);
        if (row) {
            (void)std::fprintf(stderr,
                               "mpi_matmul: wrong data at N %llu: row %llu of C, which rank %d "
                               "computed, in repetition %llu (warm-up included)\n",
                               static_cast<unsigned long long>(n_),
                               static_cast<unsigned long long>(*row), owner(*row),
                               static_cast<unsigned long long>(repetition));
        }
        return !row.has_value();
    }

    [[nodiscard]] bool is_root() const { return world_.rank == 0; }
    [[nodiscard]] const std::vector<Share>& shares() const { return transfers_.all(); }

  private:
    [[nodiscard]] int owner(std::uint64_t row) const {
        int rank = 0;
        while (row >= shares()[static_cast<std::size_t>(rank)].first +
                          shares()[static_cast<std::size_t>(rank)].rows) {
            ++rank;
        }
        return rank;
    }

    const bench::World& world_;
    const Options& options_;
    std::uint64_t n_;
    Transfers transfers_;
    Place place_;
    std::vector<Phase> phases_;
    std::optional<Freivalds> freivalds_;
    bool injects_ = false;
};

// All ranks end together: on a wrong product, known to rank 0, or on a signal to any of them.
Result::Ending agree(bool wrong) {
    const std::array<int, 2> own = {wrong ? 1 : 0, bench::interrupted_by() != 0 ? 1 : 0};
    std::array<int, 2> any{};
    check(MPI_Allreduce(own.data(), any.data(), 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD),
          "MPI_Allreduce");
    if (any[0] != 0) {
        return Result::Ending::Wrong;
    }
    return any[1] != 0 ? Result::Ending::Interrupted : Result::Ending::Complete;
}

// One repetition and its check; the times are kept on rank 0 if it is not of the warm-up.
void take(Bench& bench, const Options& options, Result& result, std::uint64_t repetition,
          Seconds& slowest) {
    slowest = bench.repeat(repetition == 0);
    bool wrong = false;
    if (bench.is_root()) {
        wrong = options.validate && !bench.is_right(repetition);
        result.valid = options.validate ? std::optional<bool>(!wrong) : std::nullopt;
        if (repetition >= options.warmup) {
            for (std::size_t phase = 0; phase < kPhases; ++phase) {
                result.seconds[phase].push_back(slowest[phase]);
            }
        }
    }
    result.ending = agree(wrong);
}

} // namespace

std::uint64_t fitting(const Options& options, double each) {
    const double left = *options.time_budget - each * static_cast<double>(options.warmup);
    const double fit = left / each;
    if (!(fit < static_cast<double>(options.repetitions))) {
        return options.repetitions;
    }
    const auto whole = static_cast<std::uint64_t>(std::max(fit, 0.0));
    return std::min(std::max(whole, kFewestRepetitions), options.repetitions);
}

Result measure(const bench::World& world, const Options& options, std::uint64_t n,
               const bench::gpu::Cublas* cublas) {
    Bench bench(world, options, n, cublas);
    Result result;
    result.n = n;
    result.warmup = options.warmup;
    result.asked = options.repetitions;
    const std::uint64_t moved = transferred_bytes(bench.shares(), n);
    const std::uint64_t broadcast = broadcast_bytes(n, world.size);
    result.phases = phases_of(options);
    result.bytes[kTransferA] = result.bytes[kTransferC] = moved;
    result.bytes[kBroadcastB] = broadcast;
    result.bytes[kTotal] = 2 * moved + broadcast;
    result.bytes[kCopyIn] = copied_in_bytes(n, world.size);
    result.bytes[kCopyOut] = matrix_bytes(n, n);
    for (auto& values : result.seconds) {
        values.reserve(options.repetitions);
    }
    Seconds slowest{};
    for (std::uint64_t repetition = 0; repetition < options.warmup + result.asked; ++repetition) {
        take(bench, options, result, repetition, slowest);
        if (result.ending != Result::Ending::Complete) {
            break;
        }
        if (options.time_budget && repetition + 1 == options.warmup) {
            // The last of the warm-up, as the first one also sets up connections.
            double each = slowest[kTotal];
            check(MPI_Bcast(&each, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD), "MPI_Bcast");
            result.asked = fitting(options, each);
        }
    }
    return result;
}

} // namespace mpi_matmul
