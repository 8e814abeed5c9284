#include "mpi_under_load/measure.hpp"

#include "common/buffer.hpp"
#include "common/interrupt.hpp"
#include "mpi_probe/patterns.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace mpi_under_load {

namespace {

using bench::check;
using mpi_probe::ElementType;

constexpr std::uint64_t kBlock = 25; ///< iterations between two changes of the load

class Allreduce {
  public:
    Allreduce(MPI_Comm measurers, const Options& options, std::uint64_t size)
        : measurers_(measurers), options_(options), size_(size),
          count_(static_cast<std::size_t>(size) / sizeof(float)), ranks_(ranks_of(measurers)),
          rank_(rank_of(measurers)), send_(size, 1), receive_(size, 0),
          sums_(ElementType::Float, ranks_) {}

    // Adds the seconds of so many iterations on this rank.
    void run(std::uint64_t iterations, std::vector<double>& seconds) {
        for (std::uint64_t each = 0; each < iterations; ++each, ++iteration_) {
            prepare();
            check(MPI_Barrier(measurers_), "MPI_Barrier");
            const double start = MPI_Wtime();
            check(MPI_Allreduce(send_.data(), receive_.data(), static_cast<int>(count_), MPI_FLOAT,
                                MPI_SUM, measurers_),
                  "MPI_Allreduce");
            seconds.push_back(MPI_Wtime() - start);
            verify();
        }
    }

    // Collective; the first rank with wrong data says so.
    [[nodiscard]] bool is_right() const {
        const int candidate = mismatch_.count > 0 ? rank_ : ranks_;
        int witness = ranks_;
        check(MPI_Allreduce(&candidate, &witness, 1, MPI_INT, MPI_MIN, measurers_),
              "MPI_Allreduce");
        if (witness == rank_) {
            (void)std::fprintf(stderr,
                               "mpi_under_load: wrong data at %llu bytes: rank %d of those that "
                               "measure, element %zu: expected %g, found %g; %llu wrong elements "
                               "in all on this rank\n",
                               static_cast<unsigned long long>(size_), rank_, mismatch_.index,
                               mismatch_.expected, mismatch_.found,
                               static_cast<unsigned long long>(mismatch_.count));
        }
        return witness == ranks_;
    }

    // Ascending means over the ranks, as OSU's percentiles are of; on rank 0.
    [[nodiscard]] std::vector<double> means(const std::vector<double>& seconds) const {
        std::vector<double> values(seconds.size());
        check(MPI_Reduce(seconds.data(), values.data(), static_cast<int>(seconds.size()),
                         MPI_DOUBLE, MPI_SUM, 0, measurers_),
              "MPI_Reduce");
        for (double& value : values) {
            value /= ranks_;
        }
        std::sort(values.begin(), values.end());
        return values;
    }

    [[nodiscard]] bool is_leader() const { return rank_ == 0; }

  private:
    static int ranks_of(MPI_Comm comm) {
        int size = 0;
        check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
        return size;
    }
    static int rank_of(MPI_Comm comm) {
        int rank = 0;
        check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
        return rank;
    }

    void prepare() {
        if (options_.validate) {
            sums_.fill(send_.data(), count_, rank_, iteration_);
            mpi_probe::fill_poison(receive_.data(), count_, ElementType::Float);
        }
    }

    void verify() {
        if (!options_.validate) {
            return;
        }
        if (options_.inject_error && rank_ == ranks_ - 1) {
            mpi_probe::corrupt_element(receive_.data(), count_ - 1, ElementType::Float);
        }
        mpi_probe::add_mismatches(mismatch_, sums_.check(receive_.data(), count_, 0, iteration_));
    }

    MPI_Comm measurers_;
    const Options& options_;
    std::uint64_t size_;
    std::size_t count_;
    int ranks_;
    int rank_;
    bench::PageBuffer send_, receive_;
    mpi_probe::SumPattern sums_;
    mpi_probe::Mismatch mismatch_;
    std::uint64_t iteration_ = 0;
};

void run_loaded(Allreduce& allreduce, MPI_Comm measurers, std::uint64_t iterations,
                Result& result) {
    if (allreduce.is_leader()) {
        begin_load();
    }
    check(MPI_Barrier(measurers), "MPI_Barrier");
    allreduce.run(iterations, result.loaded);
    if (allreduce.is_leader()) {
        const Carried carried = end_load();
        result.carried.bytes += carried.bytes;
        result.carried.seconds += carried.seconds;
    }
    check(MPI_Barrier(measurers), "MPI_Barrier");
}

// Whether the time is over, by rank 0's clock, and the signal that any rank got.
std::array<int, 2> ending(MPI_Comm measurers, const Options& options, double start) {
    const bool over = options.time_budget && MPI_Wtime() - start > *options.time_budget;
    const std::array<int, 2> own{over ? 1 : 0, bench::interrupted_by()};
    std::array<int, 2> all{};
    check(MPI_Allreduce(own.data(), all.data(), 2, MPI_INT, MPI_MAX, measurers), "MPI_Allreduce");
    return all;
}

} // namespace

Result measure(MPI_Comm measurers, const Options& options, std::uint64_t size) {
    Result result;
    result.size = size;
    result.warmup = options.warmup;
    Allreduce allreduce(measurers, options, size);
    std::vector<double> unused;
    unused.reserve(options.warmup);
    result.idle.reserve(options.iterations);
    result.loaded.reserve(options.iterations);
    const double start = MPI_Wtime();
    allreduce.run(options.warmup, unused);
    bool over = false;
    while (result.idle.size() < options.iterations && !over && result.signal == 0) {
        const std::uint64_t block = std::min(kBlock, options.iterations - result.idle.size());
        allreduce.run(block, result.idle);
        run_loaded(allreduce, measurers, block, result);
        const std::array<int, 2> found = ending(measurers, options, start);
        over = found[0] != 0;
        result.signal = found[1];
    }
    result.idle = allreduce.means(result.idle);
    result.loaded = allreduce.means(result.loaded);
    if (options.validate) {
        result.valid = allreduce.is_right();
    }
    return result;
}

} // namespace mpi_under_load
