// The two outputs: a table, and JSON. Both are written by rank 0.
#pragma once

#include "mpi_matmul/measure.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace mpi_matmul {

/// What is told of one phase: microseconds over the repetitions, and rates at their median.
struct Summary {
    double minimum;
    double average;
    double median;
    double p95;
    double maximum;
    double variation; ///< NaN for a single repetition
    double gigabytes; ///< 10^9 bytes a second; NaN where nothing moves
    double gigaflops; ///< NaN where nothing is computed
};

Summary summarise(const Result& result, Phase phase);

/// The sum of the four phases over the total, median of the repetitions. What is missing to 1 was
/// spent between phases: the slowest rank of one is not that of the next.
double phases_over_total(const Result& result);

/// Prints the table order by order. Its last line tells that nothing is missing: a table without it
/// was cut.
class Table {
  public:
    /// `crowded` as oversubscription tells it.
    Table(std::FILE* stream, const bench::World& world, const Options& options,
          const std::string& crowded)
        : stream_(stream), world_(world), options_(options), crowded_(crowded) {}

    [[nodiscard]] const std::string& crowded() const { return crowded_; }

    void print_head() const;
    void print_result(const Result& result) const;
    void print_end(const std::vector<Result>& results, int signal) const;

  private:
    std::FILE* stream_;
    const bench::World& world_;
    const Options& options_;
    const std::string& crowded_;
};

/// The JSON document; docs/programs/mpi_matmul.md describes the keys. `signal` is the one that
/// ended the run early, 0 if none did.
std::string json_document(const bench::World& world, const Options& options,
                          const std::string& crowded, const std::vector<Result>& results,
                          int signal);

} // namespace mpi_matmul
