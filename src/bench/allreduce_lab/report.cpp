#include "allreduce_lab/report.hpp"

#include "common/interrupt.hpp"
#include "common/output.hpp"
#include "common/statistics.hpp"

#include <algorithm>
#include <array>

namespace allreduce_lab {

namespace {

using bench::Percentile;
using bench::percentile_of_sorted;
using bench::print;

constexpr double kMicro = 1e6;
constexpr double kGiga = 1e9;
constexpr std::array<std::pair<const char*, Percentile>, 6> kPercentiles = {{{"min", {0}},
                                                                             {"p50", {50'000}},
                                                                             {"p90", {90'000}},
                                                                             {"p95", {95'000}},
                                                                             {"p99", {99'000}},
                                                                             {"max", {100'000}}}};

std::vector<double> ascending(const Result& result) {
    std::vector<double> sorted = result.seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

double tail(const std::vector<double>& sorted) {
    return percentile_of_sorted(sorted, {99'000}) / percentile_of_sorted(sorted, {50'000});
}

std::uint64_t bytes_of(const Options& options) {
    return options.elements * sizeof(float);
}

void write_times(bench::JsonWriter& json, const std::vector<double>& sorted) {
    json.key("time");
    json.begin_object();
    json.member("min", sorted.front());
    // Whole percentiles are as fine as a picture of the distribution needs.
    for (unsigned percent = 1; percent < 100; ++percent) {
        json.member("p" + std::to_string(percent), percentile_of_sorted(sorted, {percent * 1000}));
    }
    json.member("max", sorted.back());
    json.member("avg", bench::sum(sorted) / static_cast<double>(sorted.size()));
    json.end_object();
    json.member("tail", tail(sorted));
}

void write_result(bench::JsonWriter& json, const Report& report) {
    const std::vector<double> sorted = ascending(report.result);
    json.begin_object();
    json.member("size", bytes_of(report.options));
    json.member("elements", report.options.elements);
    json.member("iterations", static_cast<std::uint64_t>(sorted.size()));
    json.member("warmup", report.options.warmup);
    write_times(json, sorted);
    json.member("bandwidth", static_cast<double>(bytes_of(report.options)) /
                                 percentile_of_sorted(sorted, {50'000}));
    json.end_object();
}

} // namespace

void print_table(std::FILE* stream, const Report& report) {
    const Options& options = report.options;
    print(stream, "# allreduce_lab v%s\n# Scheme: %s\n# Ranks: %d\n# Hosts:", ALLREDUCE_LAB_VERSION,
          std::string(name_of(options.scheme)).c_str(), options.size);
    for (const std::string& host : report.hosts) {
        print(stream, " %s", host.c_str());
    }
    print(stream, "\n# Clock: %.1f ns\n%-12s%12s", report.clock_overhead * kGiga, "# Bytes",
          "Iterations");
    for (const char* const title :
         {"Min(us)", "P50(us)", "P90(us)", "P95(us)", "P99(us)", "Max(us)", "P99/P50", "GB/s"}) {
        print(stream, "%12s", title);
    }
    print(stream, "\n");
    const std::vector<double> sorted = ascending(report.result);
    if (!sorted.empty()) {
        print(stream, "%-12llu%12zu", static_cast<unsigned long long>(bytes_of(options)),
              sorted.size());
        for (const auto& [name, percentile] : kPercentiles) {
            print(stream, "%12.1f", kMicro * percentile_of_sorted(sorted, percentile));
        }
        print(stream, "%12.3f%12.4f\n", tail(sorted),
              static_cast<double>(bytes_of(options)) / percentile_of_sorted(sorted, {50'000}) /
                  kGiga);
    }
    if (!report.result.failure.empty()) {
        print(stream, "# Failed: %s\n", report.result.failure.c_str());
    } else if (report.result.signal != 0) {
        print(stream, "# Interrupted: %s after %zu of %llu sums\n",
              bench::signal_name(report.result.signal).c_str(), sorted.size(),
              static_cast<unsigned long long>(options.iterations));
    } else {
        print(stream, "# Complete: %zu sums%s\n", sorted.size(),
              options.validate ? ", each checked" : "");
    }
}

std::string json_document(const Report& report) {
    bench::JsonWriter json;
    json.begin_object();
    json.member("schema", "fabricheck-result-1");
    json.member("program", "allreduce_lab");
    json.member("version", ALLREDUCE_LAB_VERSION);
    json.member("benchmark", name_of(report.options.scheme));
    Options told = report.options;
    table_of(told).write(json);
    json.key("environment");
    json.begin_object();
    json.member("ranks", static_cast<std::uint64_t>(report.options.size));
    json.member("hosts", report.hosts);
    json.member("clock_overhead", report.clock_overhead);
    json.end_object();
    json.key("units");
    json.begin_object();
    for (const auto& [name, unit] :
         {std::pair{"size", "B"}, {"time", "s"}, {"tail", "1"}, {"bandwidth", "B/s"}}) {
        json.member(name, unit);
    }
    json.end_object();
    json.key("results");
    json.begin_array();
    if (!report.result.seconds.empty()) {
        write_result(json, report);
    }
    json.end_array();
    json.member("expected", std::uint64_t{1});
    const char* const checked = report.result.failure.empty() ? "passed" : "failed";
    json.member("validation", report.options.validate ? checked : "off");
    json.member("failures", report.result.failure.empty()
                                ? std::vector<std::string>{}
                                : std::vector<std::string>{report.result.failure});
    bench::write_end(json, report.result.signal, report.complete());
    json.end_object();
    return json.text();
}

} // namespace allreduce_lab
