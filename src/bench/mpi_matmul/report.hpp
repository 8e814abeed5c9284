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

/// Prints the table order by order. Its last line tells that nothing is missing: a table without it
/// was cut.
class Table {
  public:
    Table(std::FILE* stream, const bench::World& world, const Options& options)
        : stream_(stream), world_(world), options_(options) {}

    void print_head() const;
    void print_result(const Result& result) const;
    void print_end(const std::vector<Result>& results, int signal) const;

  private:
    std::FILE* stream_;
    const bench::World& world_;
    const Options& options_;
};

/// The JSON document; docs/programs/mpi_matmul.md describes the keys. `signal` is the one that
/// ended the run early, 0 if none did.
std::string json_document(const bench::World& world, const Options& options,
                          const std::vector<Result>& results, int signal);

} // namespace mpi_matmul
