// One size of one benchmark: warm-up, timed iterations, validation. See docs/explanation/method.md,
// "Loops".
#pragma once

#include "mpi_probe/benchmarks.hpp"
#include "mpi_probe/options.hpp"
#include "mpi_probe/path.hpp"
#include "mpi_probe/patterns.hpp"
#include "mpi_probe/world.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace mpi_probe {

/// What a benchmark works with, for all its sizes.
struct Context {
    const World& world;
    const Options& options;
    Buffers buffers;
};

/// One line of the table. `valid` is known to all ranks, the rest to rank 0 only.
struct SizeResult {
    std::uint64_t size = 0;
    std::uint64_t iterations = 0;
    std::uint64_t warmup = 0;
    double average = 0.0;
    double rank_minimum = 0.0; ///< collectives: smallest and largest average of a rank
    double rank_maximum = 0.0;
    double message_rate = 0.0;     ///< mbw_mr: messages per second
    std::vector<double> ascending; ///< one value an iteration, sorted: seconds or bytes/s
    std::optional<bool> valid;     ///< empty without --validate
    Copied copied; ///< by a staged path on rank 0, in all iterations with their warm-up
    std::optional<std::uint64_t> segments; ///< of TCP, of rank 0's node, meanwhile
};

/// Elements of one message or block.
struct Message {
    int count;
    ElementType type;
    MPI_Datatype datatype;
    std::size_t bytes;
};

Message make_message(const Options& options, std::uint64_t size);

/// Pinned memory for the slots of a staged path, made once: room for so many bytes one way.
void make_slots(Context& context, std::size_t bytes);

void barrier();

/// One iteration of a benchmark on this rank. A derived class adds
/// `double iterate()`: one iteration, returning the seconds of its timed part on the ranks that
/// read the clock and 0 on the others. It is no virtual function so that the compiler can put it
/// into the timed loop; nothing but the MPI calls stands between its two clock reads.
class Kernel {
  public:
    Kernel() = default;
    virtual ~Kernel() = default;
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;

    /// For --validate, outside the timed part: own data to send, poison where data will arrive.
    virtual void prepare(std::uint64_t iteration) = 0;
    /// Untimed iterations into the scratch buffer, since prepare() has disturbed the caches; all
    /// ranks leave it ready for the timed one.
    virtual void rehearse(int rounds) = 0;
    [[nodiscard]] virtual Mismatch verify(std::uint64_t iteration) const = 0;
    [[nodiscard]] virtual bool receives() const = 0;
    /// Falsifies one element that arrived here.
    virtual void corrupt() = 0;
};

constexpr int kRehearsals = 5; ///< OSU's VALIDATION_SKIP_DEFAULT

/// The timed parts of the iterations on this rank, in seconds.
struct Timings {
    std::vector<double> seconds;
    std::uint64_t warmup = 0;
    std::optional<bool> valid;
};

/// Checks received data iteration by iteration and tells all ranks the outcome.
class Validator {
  public:
    Validator(const Context& context, Kernel& kernel);
    void before(std::uint64_t iteration, int rehearsals);
    void after(std::uint64_t iteration);
    /// Collective. One rank that received wrong data says so on standard error.
    [[nodiscard]] bool passed(std::uint64_t size) const;

  private:
    const Context& context_;
    Kernel& kernel_;
    bool inject_here_ = false;
    Mismatch mismatch_;
    std::uint64_t first_bad_iteration_ = 0;
};

/// However small the budget: fewer samples say nothing about a distribution.
constexpr std::uint64_t kFewestIterations = 10;
/// The same of windows: a bandwidth is told as a mean, and each window has many messages already.
constexpr std::uint64_t kFewestWindows = 3;

/// Budgets, and seconds, that one iteration lasts at the least to be the only sample: on a path so
/// much slower than its site expects, more would end at the job's time limit and say nothing at
/// all.
constexpr double kMostBudgets = 10.0;
constexpr double kLongIteration = 0.1;

/// Decides from the warm-up how many iterations fit into the time budget. Rank 0's clock decides
/// for all ranks.
class Calibration {
  public:
    Calibration(const Rounds& rounds, double budget, std::uint64_t fewest)
        : rounds_(rounds), budget_(budget), fewest_(fewest) {}
    /// Warm-up iterations of the next block; 0 when the warm-up is over.
    [[nodiscard]] std::uint64_t next_block() const;
    /// Collective: tells that the block took `seconds` here.
    void finish_block(std::uint64_t block, double seconds);
    [[nodiscard]] std::uint64_t warmup() const { return done_; }
    [[nodiscard]] std::uint64_t iterations() const;
    /// None before the first iteration, nor where the fewest iterations alone take longer than the
    /// budget: messages that long need no warm caches.
    [[nodiscard]] int rehearsals() const;
    /// Whether the second iteration alone took so long that it has to be the sample.
    [[nodiscard]] bool is_sample_enough() const {
        return settled_ == 1 && elapsed_ > std::max(kMostBudgets * budget_, kLongIteration);
    }

  private:
    Rounds rounds_;
    double budget_;
    std::uint64_t fewest_;
    double bare_ = 0.0; ///< seconds of an iteration without rehearsals, from the last block
    std::uint64_t done_ = 0;
    std::uint64_t settled_ = 0; ///< without the first iteration, which also sets up connections
    double elapsed_ = 0.0;      ///< seconds of the settled ones
};

/// Warm-up and timed iterations of `step(iteration, rehearsals)`, which returns seconds.
template <class Step>
Timings run_rounds(const Options& options, std::uint64_t size, Step step) {
    const Rounds& rounds = options.rounds(size);
    Timings timings;
    std::uint64_t iteration = 0;
    int rehearsals = kRehearsals;
    if (options.time_budget) {
        const bool is_latency = options.benchmark->metric == Metric::Latency;
        Calibration calibration(rounds, *options.time_budget,
                                is_latency ? kFewestIterations : kFewestWindows);
        double last = 0.0;
        while (const std::uint64_t block = calibration.next_block()) {
            rehearsals = calibration.rehearsals();
            const double start = MPI_Wtime();
            for (std::uint64_t done = 0; done < block; ++done) {
                last = step(iteration++, rehearsals);
            }
            calibration.finish_block(block, MPI_Wtime() - start);
        }
        if (calibration.is_sample_enough()) {
            timings.warmup = calibration.warmup() - 1;
            timings.seconds.assign(1, last);
            return timings;
        }
        rehearsals = calibration.rehearsals();
        timings.warmup = calibration.warmup();
        timings.seconds.assign(calibration.iterations(), 0.0);
        barrier();
    } else {
        timings.warmup = rounds.warmup;
        timings.seconds.assign(rounds.iterations, 0.0);
        barrier();
        while (iteration < rounds.warmup) {
            (void)step(iteration++, rehearsals);
        }
    }
    for (double& seconds : timings.seconds) {
        seconds = step(iteration++, rehearsals);
    }
    return timings;
}

/// Measures one size with the kernel, validated or not as the options say. Collective.
template <class ConcreteKernel>
Timings measure(const Context& context, ConcreteKernel& kernel, std::uint64_t size) {
    if (!context.options.validate) {
        return run_rounds(context.options, size,
                          [&kernel](std::uint64_t, int) { return kernel.iterate(); });
    }
    Validator validator(context, kernel);
    Timings timings =
        run_rounds(context.options, size, [&](std::uint64_t iteration, int rehearsals) {
            validator.before(iteration, rehearsals);
            const double seconds = kernel.iterate();
            validator.after(iteration);
            return seconds;
        });
    timings.valid = validator.passed(size);
    return timings;
}

} // namespace mpi_probe
