#include "common/interrupt.hpp"
#include "common/output.hpp"
#include "common/statistics.hpp"
#include "mpi_probe/report.hpp"

#include <algorithm>

namespace mpi_probe {

namespace {

using bench::print;

constexpr int kSizeWidth = 10;
constexpr int kWidth = 18;
constexpr int kIterationsWidth = 12;
constexpr int kBarrierWidth = 17;
constexpr int kDecimals = 2;
constexpr int kDecimalsBelowOne = 6;
constexpr unsigned kThousandths = 1000;

// Two decimals, as OSU prints; more where they would round what is slow to nothing.
void print_number(std::FILE* stream, double value) {
    print(stream, "%*.*f", kWidth, value < 1 ? kDecimalsBelowOne : kDecimals, value);
}

void print_title(std::FILE* stream, const std::string& title) {
    print(stream, "%*s", kWidth, title.c_str());
}

const char* value_title(const Benchmark& benchmark) {
    switch (benchmark.metric) {
    case Metric::Bandwidth:
        return "Bandwidth (MB/s)";
    case Metric::MessageRate:
        return "MB/s";
    case Metric::Latency:
        break;
    }
    return "Avg Latency(us)";
}

} // namespace

void Table::print_head() const {
    const Benchmark& benchmark = *options_.benchmark;
    const bool pairs = benchmark.metric == Metric::MessageRate;
    print(stream_, "%s# mpi_probe MPI %s v%s\n", pairs ? "" : "\n",
          std::string(benchmark.title).c_str(), MPI_PROBE_VERSION);
    if (pairs) {
        print(stream_, "# [ pairs: %d ] [ window size: %d ]\n", world_.size / 2, options_.window);
    }
    print_metadata();
    print_columns();
    (void)std::fflush(stream_);
}

void Table::print_metadata() const {
    if (options_.benchmark->has_sizes) {
        print(stream_, "# Datatype: %s.\n", type_name(options_.type));
    }
    print(stream_, "# Ranks: %d\n# Hosts:", world_.size);
    for (const std::string& host : world_.hosts) {
        print(stream_, " %s", host.c_str());
    }
    const std::vector<double>& overheads = world_.clock_overhead_ns;
    print(stream_, "\n# MPI: %s\n# Clock: %.1f ns\n", world_.library.c_str(),
          *std::max_element(overheads.begin(), overheads.end()));
}

void Table::print_columns() const {
    const Benchmark& benchmark = *options_.benchmark;
    if (benchmark.has_sizes) {
        print(stream_, "%-*s", kSizeWidth, "# Size");
        print_title(stream_, value_title(benchmark));
    } else {
        print(stream_, "# %s", value_title(benchmark));
    }
    if (benchmark.metric == Metric::MessageRate) {
        print_title(stream_, "Messages/s");
    }
    if (options_.full) {
        print_title(stream_, "Min Latency(us)");
        print_title(stream_, "Max Latency(us)");
        print(stream_, "%*s", kIterationsWidth, "Iterations");
    }
    if (options_.validate) {
        print_title(stream_, "Validation");
    }
    const char* const tail =
        benchmark.metric == Metric::Latency ? " Tail Lat(us)" : " Tail BW(MB/s)";
    for (const unsigned percentile : options_.percentiles) {
        print_title(stream_, "P" + std::to_string(percentile) + tail);
    }
    print(stream_, "\n");
}

void Table::print_row(const SizeResult& result) const {
    if (options_.benchmark->has_sizes) {
        print(stream_, "%-*llu", kSizeWidth, static_cast<unsigned long long>(result.size));
        print_number(stream_, result.average);
    } else {
        print(stream_, "%*.*f", kBarrierWidth, kDecimals, result.average);
    }
    if (options_.benchmark->metric == Metric::MessageRate) {
        print_number(stream_, result.message_rate);
    }
    if (options_.full) {
        print_number(stream_, result.rank_minimum);
        print_number(stream_, result.rank_maximum);
        print(stream_, "%*llu", kIterationsWidth,
              static_cast<unsigned long long>(result.iterations));
    }
    if (result.valid) {
        print_title(stream_, *result.valid ? "Pass" : "Fail");
    }
    for (const unsigned percentile : options_.percentiles) {
        print_number(stream_,
                     bench::percentile_of_sorted(result.ascending, {percentile * kThousandths}));
    }
    print(stream_, "\n");
    (void)std::fflush(stream_);
}

void Table::print_complete(std::size_t sizes) const {
    print(stream_, "# Complete: %zu sizes\n", sizes);
}

void Table::print_interrupted(int signal, std::size_t sizes) const {
    print(stream_, "# Interrupted: %s after %zu of %zu sizes\n", bench::signal_name(signal).c_str(),
          sizes, options_.sizes().size());
}

void Table::print_validation_error(std::uint64_t size) const {
    print(stream_, "DATA VALIDATION ERROR: mpi_probe exited with status %d on message size %llu.\n",
          bench::kFailure, static_cast<unsigned long long>(size));
}

} // namespace mpi_probe
