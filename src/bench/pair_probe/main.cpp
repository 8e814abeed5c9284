// pair_probe: latency and bandwidth of disjoint pairs of ranks, all at once, in rounds that another
// process decides. How each number is measured: docs/reference/programs/pair_probe.md.
#include "common/interrupt.hpp"
#include "common/world.hpp"
#include "pair_probe/measure.hpp"
#include "pair_probe/options.hpp"
#include "pair_probe/schedule.hpp"
#include "pair_probe/steering.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

namespace pair_probe {

namespace {

using namespace bench;

constexpr int kWidth = 14;

// What rank 0 decides, in the place of how many ranks a round has.
constexpr int kEnd = 0;
constexpr int kFailed = -1;

Report begin_report(const World& world, const Options& options, const ByNccl* nccl) {
    Report report(table_stream(options.json), "pair_probe", nccl == nullptr ? "pairs" : "nccl");
    add_facts(report, world);
    if (nccl != nullptr) {
        nccl->add_facts(report, world);
    }
    report.set_columns({{"# Round", -10, "round"},
                        {"Pairs", 8, "pairs"},
                        {"Lat p50(us)", kWidth, "latency", "p50", kToMicro},
                        {"Lat max(us)", kWidth, "latency", "max", kToMicro},
                        {"BW p50(MB/s)", kWidth, "bandwidth", "p50", kToMega},
                        {"BW min(MB/s)", kWidth, "bandwidth", "min", kToMega},
                        {"Validation", 12, "valid"}});
    if (world.rank == 0) {
        print(report.stream(), "# pair_probe MPI Pairs of Ranks, in Rounds v%s\n", BENCH_VERSION);
        report.print_facts();
        report.print_titles();
    }
    return report;
}

Statistics spread_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return statistics_of(values, sum(values) / static_cast<double>(values.size()));
}

struct Round {
    std::vector<double> first, second, latency, there, back;

    Round(const std::vector<int>& pairs, const std::vector<double>& all) {
        for (std::size_t each = 0; each < pairs.size(); each += 2) {
            const auto one = static_cast<std::size_t>(pairs[each]);
            const auto other = static_cast<std::size_t>(pairs[each + 1]);
            first.push_back(pairs[each]);
            second.push_back(pairs[each + 1]);
            latency.push_back(all[2 * one]);
            there.push_back(all[2 * one + 1]);
            back.push_back(all[2 * other + 1]);
        }
    }

    // Five numbers of each pair.
    [[nodiscard]] std::string line() const {
        std::string text;
        std::array<char, 128> words{};
        for (std::size_t each = 0; each < first.size(); ++each) {
            (void)std::snprintf(words.data(), words.size(), "%s%.0f %.0f %.9g %.9g %.9g",
                                each == 0 ? "" : " ", first[each], second[each], latency[each],
                                there[each], back[each]);
            text += words.data();
        }
        return text + "\n";
    }

    [[nodiscard]] Row row(std::uint64_t number, std::optional<bool> valid) const {
        std::vector<double> rates = there;
        rates.insert(rates.end(), back.begin(), back.end());
        return {{"round", number, "1"},
                {"pairs", static_cast<std::uint64_t>(first.size()), "1"},
                {"latency", spread_of(latency), "s"},
                {"bandwidth", spread_of(rates), "B/s"},
                {"first", first, "1"},
                {"second", second, "1"},
                {"latencies", latency, "s"},
                {"there", there, "B/s"},
                {"back", back, "B/s"},
                {"valid", value_of(valid)}};
    }
};

// The pairs of the next round on all ranks; none at the end. Throws on rank 0 alone.
class Rounds {
  public:
    Rounds(const World& world, const Options& options, Report& report)
        : world_(world), report_(report) {
        if (world.rank != 0) {
            return;
        }
        guarded([this, &options] {
            steering_ = std::make_unique<Steering>(options.steer);
            std::string hosts;
            for (const std::string& host : world_.host_of_rank) {
                hosts += (hosts.empty() ? "" : " ") + host;
            }
            steering_->tell(hosts + "\n");
        });
    }

    std::vector<int> next() {
        std::vector<int> pairs;
        if (world_.rank == 0) {
            guarded([this, &pairs] {
                const std::string line = steering_->ask();
                if (line == "end") {
                    steering_->finish();
                } else {
                    pairs = parse_pairs(line, world_.size);
                }
            });
        }
        int count = failed_ ? kFailed : static_cast<int>(pairs.size());
        check(MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
        if (count == kFailed || count == kEnd) {
            return {};
        }
        pairs.resize(static_cast<std::size_t>(count));
        check(MPI_Bcast(pairs.data(), count, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
        return pairs;
    }

    void tell(const Round& round) {
        guarded([this, &round] { steering_->tell(round.line()); });
    }

  private:
    // On rank 0; a failure is the report's, and ends the rounds.
    template <class Work>
    void guarded(const Work& work) {
        if (failed_) {
            return;
        }
        try {
            work();
        } catch (const std::runtime_error& error) {
            failed_ = true;
            report_.fail(error.what());
        }
    }

    const World& world_;
    Report& report_;
    std::unique_ptr<Steering> steering_;
    bool failed_ = false;
};

std::vector<double> gathered(const World& world, const Measured& measured) {
    const std::array<double, 2> own{measured.latency, measured.rate};
    std::vector<double> all(world.rank == 0 ? 2 * static_cast<std::size_t>(world.size) : 0);
    check(MPI_Gather(own.data(), 2, MPI_DOUBLE, all.data(), 2, MPI_DOUBLE, 0, MPI_COMM_WORLD),
          "MPI_Gather");
    return all;
}

std::string refusal(const World& world) {
    return world.size < 2 ? "expected two ranks at least, found one" : "";
}

int run(World& world, int argc, char** argv) {
    Options options = parse_options(argc, argv);
    if (!begins(world, options, help_text(), refusal)) {
        return kSuccess;
    }

    const auto nccl = options.nccl ? std::make_unique<ByNccl>(world) : nullptr;
    Report report = begin_report(world, options, nccl.get());
    Pairs measuring(world, options, nccl.get());
    Rounds rounds(world, options, report);
    int signal = 0;
    std::uint64_t count = 0;
    for (std::vector<int> pairs = rounds.next(); !pairs.empty() && signal == 0;
         pairs = rounds.next()) {
        ++count;
        const Measured measured =
            measuring.round(partner_of(pairs, world.rank), is_first(pairs, world.rank), count);
        const std::optional<bool> valid = measuring.is_right(count);
        const std::vector<double> all = gathered(world, measured);
        if (world.rank == 0) {
            const Round round(pairs, all);
            report.add(round.row(count, valid));
            rounds.tell(round);
        }
        signal = common_signal();
        if (signal != 0 || !valid.value_or(true)) {
            break;
        }
    }
    return world.rank == 0 ? report.end(options.json, table_of(options),
                                        std::max<std::size_t>(count, 1), "rounds", signal)
                           : kSuccess;
}

} // namespace

} // namespace pair_probe

int main(int argc, char** argv) {
    return bench::run_world("pair_probe", argc, argv, "its 17 MiB do not fit", pair_probe::run);
}
