// allreduce_lab: sums over all ranks by several schemes, and how their times vary. How each number
// is measured: docs/reference/programs/allreduce_lab.md.
#include "allreduce_lab/engine.hpp"
#include "allreduce_lab/environment.hpp"
#include "allreduce_lab/place.hpp"
#include "allreduce_lab/report.hpp"
#include "allreduce_lab/training.hpp"
#include "common/buffer.hpp"
#include "common/clock.hpp"
#include "common/interface.hpp"
#include "common/interrupt.hpp"
#include "common/output.hpp"
#include "common/report.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <new>
#include <optional>
#include <unistd.h>

namespace allreduce_lab {

namespace {

using namespace bench;

using Host = std::array<char, 64>;

constexpr std::uint64_t kMuch = std::uint64_t{1} << 28; // floats of all ranks: seconds to make

std::vector<std::string> hosts_of(Meeting& meeting) {
    Host own{};
    (void)gethostname(own.data(), own.size() - 1);
    std::vector<std::string> names;
    for (const Host& host : meeting.exchange(own)) {
        if (std::find(names.begin(), names.end(), host.data()) == names.end()) {
            names.emplace_back(host.data());
        }
    }
    return names;
}

std::optional<Bounded> bounded_of(Meeting& meeting, const Engine& scheme, bool failed) {
    if (scheme.bounded == nullptr) {
        return std::nullopt;
    }
    Bounded bounded{scheme.bound, scheme.bounded->bound(), scheme.bounded->odd()};
    if (!failed) { // or another rank may be gone
        bounded.odd = {};
        for (const Odd& odd : meeting.exchange(scheme.bounded->odd())) {
            bounded.odd.late += odd.late;
            bounded.odd.ahead += odd.ahead;
            bounded.odd.duplicate += odd.duplicate;
            bounded.odd.foreign += odd.foreign;
            bounded.odd.malformed += odd.malformed;
            bounded.odd.reordered += odd.reordered;
            bounded.odd.unsent += odd.unsent;
        }
    }
    return bounded;
}

/// The schemes, one after the other made ready and then measured in turns.
class Run {
  public:
    Run(Options& options, Meeting& meeting, in_addr address)
        : options_(options), meeting_(meeting), address_(address),
          memory_(std::max(options.elements, options.floats()) * sizeof(float), 0),
          buckets_(buckets_of(options, reinterpret_cast<float*>(memory_.data()))),
          results_(options.schemes.size()) {}

    void measure_all(Rendezvous& rendezvous) {
        meeting_.together(
            "the start", [&] { context_ = connected(rendezvous, options_, address_); }, [] {});
        hosts_ = hosts_of(meeting_);
        watch_interrupts();
        std::unique_ptr<Traffic> traffic;
        if (options_.tail || options_.environment == Network::Elastic) {
            traffic = std::make_unique<Traffic>(meeting_, options_, address_);
            const std::vector<Bucket> vector = {{buckets_.front().data, options_.elements}};
            Engine ring = engine(meeting_, options_, Scheme::Ring, context_, address_, vector);
            const Work probe = work(ring, vector, 0.0);
            environment_ = begin_traffic(meeting_, options_, probe, *traffic);
            if (!environment_->failure.empty() || environment_->signal != 0) {
                results_[0].failure = environment_->failure;
                results_[0].signal = environment_->signal;
                return;
            }
        }
        std::vector<Work> works;
        for (const Scheme scheme : options_.schemes) {
            engines_.push_back(
                engine(meeting_, options_, scheme, context_, address_, buckets_, works));
            works.push_back(
                work(engines_.back(), buckets_, static_cast<double>(options_.compute) * 1e-3));
            if (options_.train) {
                learners_.push_back(std::make_unique<Learner>(context_, options_.seed));
                works.back().learner = learners_.back().get();
            }
        }
        results_ = measure(meeting_, options_, works, traffic.get());
        if (traffic != nullptr && results_.front().failure.empty() &&
            results_.front().signal == 0) {
            add_sent(traffic->sent());
        }
    }

    int tell_all(bool realtime) {
        std::vector<Told> told;
        told.reserve(engines_.size());
        for (const Result& result : results_) {
            failure_ = failure_.empty() ? result.failure : failure_;
            signal_ = signal_ == 0 ? result.signal : signal_;
        }
        for (std::size_t each = 0; each < engines_.size(); ++each) {
            told.push_back({options_.schemes[each], results_[each],
                            bounded_of(meeting_, engines_[each], !failure_.empty())});
        }
        if (!failure_.empty()) {
            print(stderr, "allreduce_lab: rank %d: %s\n", options_.rank, failure_.c_str());
        }
        if (options_.rank == 0) {
            return tell(options_, {hosts_, clock_overhead(steady_seconds), realtime, environment_},
                        told, failure_, signal_);
        }
        const int code = failure_.empty() ? kSuccess : kFailure;
        return signal_ != 0 ? interrupted_code(signal_) : code;
    }

    void fail(const RankLost& lost) {
        results_[0].failure = std::string(lost.what()) + ", before the first sum";
    }
    void interrupt(int signal) { results_[0].signal = signal; }

  private:
    // Bytes/s of those that send, while they do.
    void add_sent(const Sent& own) {
        double bytes = 0.0;
        double seconds = 0.0;
        for (const Sent& each : meeting_.exchange(own)) {
            bytes += static_cast<double>(each.bytes);
            seconds += each.seconds;
        }
        environment_->sent = bytes / std::max(seconds, 1e-9);
    }
    Work work(const Engine& engine, const std::vector<Bucket>& buckets, double compute) {
        Allreduce* const allreduce = engine.allreduce.get();
        std::size_t elements = 0;
        for (const Bucket& bucket : buckets) {
            elements += bucket.elements;
        }
        return {buckets.front().data,
                elements,
                [buckets, allreduce, compute] { return train(*allreduce, buckets, compute); },
                [this, buckets, allreduce](Turn turn) {
                    return compare(*allreduce, buckets, turn, options_.size);
                },
                [this] { context_->closeConnections(); },
                nullptr};
    }

    Options& options_;
    Meeting& meeting_;
    in_addr address_;
    PageBuffer memory_;
    std::vector<Bucket> buckets_;
    Context context_;
    std::vector<std::string> hosts_;
    std::optional<Environment> environment_;
    std::vector<Engine> engines_;
    std::vector<std::unique_ptr<Learner>> learners_;
    std::vector<Result> results_; ///< of each scheme
    std::string failure_;
    int signal_ = 0;
};

int run(Options& options) {
    const std::string reason = options.rank == 0 ? why_not_writable(options.json) : std::string();
    if (!reason.empty()) {
        throw UsageError("option --json: " + options.json + " cannot be written: " + reason);
    }
    if (options.rank == 0 && options.floats() * static_cast<std::uint64_t>(options.size) > kMuch) {
        std::FILE* const stream = table_stream(options.json);
        print(stream, "# %.3g GB for each sum: its data are made%s outside the timed part\n",
              static_cast<double>(options.floats() * sizeof(float)) * kToGiga,
              options.validate ? ", and looked at," : "");
        (void)std::fflush(stream);
    }
    const in_addr address = address_of("--tcp-device", options.device);
    const bool realtime = take_place(options);
    Rendezvous rendezvous(options);
    Meeting meeting(rendezvous, options.rank, options.size, address, options.timeout);
    Run whole(options, meeting, address);
    try {
        whole.measure_all(rendezvous);
    } catch (const RankLost& lost) {
        whole.fail(lost);
    } catch (const Interrupted& interrupted) {
        whole.interrupt(interrupted.signal);
    }
    return whole.tell_all(realtime);
}

} // namespace

} // namespace allreduce_lab

int main(int argc, char** argv) {
    try {
        allreduce_lab::Options options = allreduce_lab::parse_options(argc, argv);
        if (options.action != bench::Action::Run) {
            bench::answer(options.action, "allreduce_lab", allreduce_lab::help_text());
            return bench::kSuccess;
        }
        (void)std::signal(SIGPIPE, SIG_IGN); // a peer or Redis that is gone is told by a call
        return allreduce_lab::run(options);
    } catch (const bench::UsageError& error) {
        bench::print(stderr, "allreduce_lab: %s\n", error.what());
        return bench::kUsage;
    } catch (const std::bad_alloc&) {
        bench::print(stderr, "allreduce_lab: not enough memory; lower --elements\n");
        return bench::kUsage;
    } catch (const std::exception& error) {
        bench::print(stderr, "allreduce_lab: %s\n", error.what());
        return bench::kFailure;
    }
}
