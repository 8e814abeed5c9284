#include "common/interrupt.hpp"
#include "common/statistics.hpp"
#include "mpi_matmul/blas.hpp"
#include "mpi_matmul/report.hpp"
#include "mpi_matmul/shares.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace mpi_matmul {

namespace {

using bench::print;

constexpr double kMicroseconds = 1e6;
constexpr double kGiga = 1e9;
constexpr double kPercent = 100.0;

// A number, or a dash where there is none.
void print_number(std::FILE* stream, int decimals, double value) {
    if (std::isnan(value)) {
        print(stream, "%14s", "-");
    } else {
        print(stream, "%14.*f", decimals, value);
    }
}

} // namespace

Summary summarise(const Result& result, Phase phase) {
    std::vector<double> ascending = result.seconds[phase];
    for (double& value : ascending) {
        value *= kMicroseconds;
    }
    std::sort(ascending.begin(), ascending.end());
    const double median = bench::percentile_of_sorted(ascending, {50'000});
    const double rate = kMicroseconds / median / kGiga;
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    const auto bytes = static_cast<double>(result.bytes[phase]);
    const bool computes = phase == kCompute || phase == kTotal;
    return {ascending.front(),
            bench::sum(ascending) / static_cast<double>(ascending.size()),
            median,
            bench::percentile_of_sorted(ascending, {95'000}),
            ascending.back(),
            bench::coefficient_of_variation(ascending),
            result.bytes[phase] > 0 ? bytes * rate : nothing,
            computes ? operations(result.n) * rate : nothing};
}

double phases_over_total(const Result& result) {
    std::vector<double> ascending;
    for (std::size_t each = 0; each < result.repetitions(); ++each) {
        double together = 0.0;
        for (std::size_t phase = 0; phase < kTotal; ++phase) {
            together += result.seconds[phase][each];
        }
        ascending.push_back(together / result.seconds[kTotal][each]);
    }
    std::sort(ascending.begin(), ascending.end());
    return bench::percentile_of_sorted(ascending, {50'000});
}

void Table::print_head() const {
    print(stream_, "# mpi_matmul MPI Matrix Multiplication v%s\n", MPI_MATMUL_VERSION);
    print(stream_,
          "# Mode: %s\n# Ranks: %d\n# Hosts:", std::string(mode_name(options_.mode)).c_str(),
          world_.size);
    for (const std::string& host : world_.hosts) {
        print(stream_, " %s", host.c_str());
    }
    const auto& overheads = world_.clock_overhead_ns;
    print(stream_, "\n# MPI: %s\n# BLAS: %s\n# Clock: %.1f ns\n", world_.library.c_str(),
          blas_name().c_str(), *std::max_element(overheads.begin(), overheads.end()));
    if (!crowded_.empty()) {
        print(stream_, "# Oversubscribed: %s\n", crowded_.c_str());
    }
    print(stream_, "%-10s%-13s%-12s", "# N", "Phase", "Repetitions");
    for (const char* const title :
         {"Min(us)", "Avg(us)", "P50(us)", "P95(us)", "Max(us)", "Variation"}) {
        print(stream_, "%14s", title);
    }
    print(stream_, "%16s%14s%14s", "Bytes", "GB/s", "GFlop/s");
    if (options_.validate) {
        print(stream_, "%12s", "Validation");
    }
    print(stream_, "\n");
    (void)std::fflush(stream_);
}

void Table::print_result(const Result& result) const {
    for (std::size_t index = 0; index < kPhases && result.repetitions() > 0; ++index) {
        const auto phase = static_cast<Phase>(index);
        const Summary summary = summarise(result, phase);
        print(stream_, "%-10llu%-13s%-12llu", static_cast<unsigned long long>(result.n),
              kPhaseNames[index], static_cast<unsigned long long>(result.repetitions()));
        for (const double value :
             {summary.minimum, summary.average, summary.median, summary.p95, summary.maximum}) {
            print_number(stream_, 2, value);
        }
        print_number(stream_, 4, summary.variation);
        print(stream_, "%16llu", static_cast<unsigned long long>(result.bytes[index]));
        print_number(stream_, 4, summary.gigabytes);
        print_number(stream_, 4, summary.gigaflops);
        if (options_.validate) {
            print(stream_, "%12s", *result.valid ? "Pass" : "Fail");
        }
        print(stream_, "\n");
    }
    if (result.repetitions() > 0) {
        print(stream_, "# Phases: %.1f %% of the total at N %llu\n",
              kPercent * phases_over_total(result), static_cast<unsigned long long>(result.n));
    }
    (void)std::fflush(stream_);
}

void Table::print_end(const std::vector<Result>& results, int signal) const {
    const Result& last = results.back();
    const auto n = static_cast<unsigned long long>(last.n);
    switch (last.ending) {
    case Result::Ending::Complete:
        print(stream_, "# Complete: %zu sizes\n", results.size());
        break;
    case Result::Ending::Wrong:
        print(stream_, "DATA VALIDATION ERROR: mpi_matmul exited with status %d on N %llu.\n",
              bench::kFailure, n);
        break;
    case Result::Ending::Interrupted:
        print(stream_, "# Interrupted: %s at N %llu, after %llu of %llu repetitions\n",
              bench::signal_name(signal).c_str(), n,
              static_cast<unsigned long long>(last.repetitions()),
              static_cast<unsigned long long>(last.asked));
        break;
    }
}

} // namespace mpi_matmul
