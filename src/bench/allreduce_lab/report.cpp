#include "allreduce_lab/report.hpp"

#include "common/report.hpp"

#include <algorithm>
#include <numeric>

namespace allreduce_lab {

namespace {

std::vector<bench::Column> columns() {
    std::vector<bench::Column> list = {
        {"# Scheme", -20, "scheme"}, {"Bytes", 12, "size"}, {"Iterations", 12, "iterations"}};
    for (const auto& [title, statistic] : {std::pair("Min(us)", "min"),
                                           {"P50(us)", "p50"},
                                           {"P90(us)", "p90"},
                                           {"P95(us)", "p95"},
                                           {"P99(us)", "p99"},
                                           {"Max(us)", "max"}}) {
        list.push_back({title, 12, "time", statistic, bench::kToMicro, 1});
    }
    list.push_back({"P99/P50", 12, "tail", {}, 1, 3});
    list.push_back({"GB/s", 12, "bandwidth", {}, bench::kToGiga, 4});
    return list;
}

bench::Statistics times(const std::vector<double>& ascending) {
    // Whole percentiles are as fine as a picture of the distribution needs.
    std::vector<unsigned> percentiles(99);
    std::iota(percentiles.begin(), percentiles.end(), 1U);
    const auto count = static_cast<double>(ascending.size());
    return bench::statistics_of(ascending, bench::sum(ascending) / count, percentiles);
}

bench::Row row_of(const Options& options, Scheme scheme, const Result& result) {
    std::vector<double> ascending = result.seconds;
    std::sort(ascending.begin(), ascending.end());
    std::vector<double> exposed = ascending;
    for (double& each : exposed) {
        each = std::max(each - static_cast<double>(options.compute) * 1e-3, 0.0);
    }
    const double median = bench::percentile_of_sorted(ascending, {50'000});
    const std::uint64_t bytes = options.floats() * sizeof(float);
    return {{"scheme", std::string(name_of(scheme))},
            {"size", bytes, "B"},
            {"elements", options.floats(), "1"},
            {"iterations", std::uint64_t{ascending.size()}, "1"},
            {"warmup", std::uint64_t{options.warmup}, "1"},
            {"time", times(ascending), "s"},
            {"exposed", times(exposed), "s"},
            {"tail", bench::percentile_of_sorted(ascending, {99'000}) / median, "1"},
            {"bandwidth", static_cast<double>(bytes) / median, "B/s"},
            {"checked",
             static_cast<double>(result.exact) /
                 static_cast<double>(options.floats() * static_cast<std::uint64_t>(options.size) *
                                     result.seconds.size()),
             "1"},
            {"sums_unchecked", result.unchecked, "1"},
            {"hit", static_cast<double>(result.hit) / static_cast<double>(ascending.size()), "1"},
            {"beside", result.beside / bench::sum(ascending), "B/s"},
            {"valid",
             options.validate && result.failure.empty() && result.unchecked == 0 && result.exact > 0
                 ? bench::Value(true)
                 : bench::Value()}};
}

using Counts = std::vector<std::pair<const char*, std::uint64_t>>;

Counts counts_of(const Result& result, const Odd& odd) {
    const Outcome& outcome = result.outcome;
    return {{"packets", outcome.expected},
            {"lost", outcome.lost},
            {"stages_full", outcome.ends[0]},
            {"stages_early", outcome.ends[1]},
            {"stages_bound", outcome.ends[2]},
            {"sums_skipped", outcome.skipped},
            {"sums_disagreed", result.disagreed},
            {"sums_inexact", result.inexact},
            {"late", odd.late},
            {"ahead", odd.ahead},
            {"duplicate", odd.duplicate},
            {"foreign", odd.foreign},
            {"malformed", odd.malformed},
            {"reordered", odd.reordered},
            {"unsent", odd.unsent}};
}

// In its place, because of a temporary GCC 12 believes that it may hold any kind of value.
template <class Number>
void add_field(bench::Row& row, const char* name, const Number& number, const char* unit) {
    bench::Field& field = row.emplace_back();
    field.name = name;
    field.value = number;
    field.unit = unit;
}

// The members of the row, and two lines below it.
void add_bounded(bench::Report& report, bench::Row row, const Result& result,
                 const Bounded& bounded) {
    const Outcome& outcome = result.outcome;
    const double loss = static_cast<double>(outcome.lost) /
                        static_cast<double>(std::max<std::uint64_t>(outcome.expected, 1));
    add_field(row, "bound", bounded.bound.seconds, "s");
    add_field(row, "bound_last", bounded.last, "s");
    add_field(row, "bound_halves", bounded.bound.halves, "s");
    add_field(row, "loss", loss, "1");
    add_field(row, "error", result.error, "1");
    add_field(row, "peak_error", result.peak, "1");
    const Counts counts = counts_of(result, bounded.odd);
    for (const auto& [name, count] : counts) {
        add_field(row, name, count, "1");
    }
    report.add(std::move(row));
    bench::print(report.stream(), "# Bound: %.3f ms; loss %.4f %%; error %.3g, peak %.3g\n#",
                 bounded.bound.seconds * 1e3, 100 * loss, result.error, result.peak);
    for (const auto& [name, count] : counts) {
        bench::print(report.stream(), " %s %llu", name, static_cast<unsigned long long>(count));
    }
    bench::print(report.stream(), "\n");
}

} // namespace

int tell(Options& options, const Circumstances& where, const std::vector<Told>& told,
         const std::string& failure, int signal) {
    bench::Report report(bench::table_stream(options.json), "allreduce_lab",
                         options.buckets.empty() ? "allreduce" : "training");
    report.fact("ranks", static_cast<std::uint64_t>(options.size), "Ranks");
    report.fact("hosts", where.hosts, "Hosts");
    report.fact("clock_overhead", std::vector<double>{where.clock_overhead}, "Clock");
    report.fact("realtime", where.realtime);
    if (where.environment) {
        const auto add = [&report](const char* name, double found, const char* label) {
            if (found > 0) { // the environment has it
                report.fact(name, found, label);
            }
        };
        const Environment& found = *where.environment;
        add("tail_idle", found.idle, "p99/p50 of a ring, idle");
        add("tail", found.found, "p99/p50 of a ring, with other traffic");
        add("background", found.background, "Other traffic asked for (B/s)");
        add("background_sent", found.sent, "Other traffic sent (B/s)");
        add("background_alone", found.alone, "Other traffic without sums (B/s)");
    }
    bench::print(report.stream(), "# allreduce_lab v%s\n", BENCH_VERSION);
    report.print_facts();
    report.set_columns(columns());
    report.print_titles();
    for (const auto& [scheme, result, bounded] : told) {
        if (result.seconds.empty()) {
            continue;
        }
        bench::Row row = row_of(options, scheme, result);
        if (options.train && !result.accuracy.empty()) {
            add_field(row, "accuracy", result.accuracy.back(), "1");
            add_field(row, "accuracies", result.accuracy, "1");
            add_field(row, "learned_seconds", result.learned_seconds, "s");
            add_field(row, "drift", result.drift, "1");
        }
        if (bounded) {
            add_bounded(report, std::move(row), result, *bounded);
        } else {
            report.add(std::move(row));
        }
    }
    if (!failure.empty()) {
        report.fail(failure);
    }
    return report.end(options.json, table_of(options), options.schemes.size(), "schemes", signal);
}

} // namespace allreduce_lab
