// allreduce_lab: sums over all ranks by several schemes, and how their times vary. How each number
// is measured: docs/programs/allreduce_lab.md.
#include "allreduce_lab/engine.hpp"
#include "allreduce_lab/measure.hpp"
#include "allreduce_lab/report.hpp"
#include "common/buffer.hpp"
#include "common/clock.hpp"
#include "common/interface.hpp"
#include "common/interrupt.hpp"
#include "common/output.hpp"

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

// The transform rounds; all else sums whole numbers.
double tolerance(const Options& options) {
    constexpr double kOfRounding = 5e-3;
    const bool rounds = options.scheme == Scheme::Optireduce && options.spread;
    return rounds ? kOfRounding * options.size : 0.0;
}

std::optional<Bounded> bounded_of(Meeting& meeting, const Engine& scheme, const Result& result) {
    if (scheme.bounded == nullptr) {
        return std::nullopt;
    }
    Bounded bounded{scheme.bound, scheme.bounded->rate(), scheme.bounded->odd()};
    if (result.failure.empty()) { // or another rank may be gone
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

int run(Options& options) {
    const std::string reason = options.rank == 0 ? why_not_writable(options.json) : std::string();
    if (!reason.empty()) {
        throw UsageError("option --json: " + options.json + " cannot be written: " + reason);
    }
    const in_addr address = address_of("--tcp-device", options.device);
    Rendezvous rendezvous(options);
    Meeting meeting(rendezvous, options.rank, options.size, address, options.timeout);
    const PageBuffer memory(options.elements * sizeof(float), 0);
    const Bucket bucket{reinterpret_cast<float*>(memory.data()), options.elements};
    std::vector<std::string> hosts;
    Context context;
    Engine scheme;
    Result result;
    try {
        meeting.together(
            "the start", [&] { context = connected(rendezvous, options, address); }, [] {});
        hosts = hosts_of(meeting);
        watch_interrupts();
        scheme = engine(meeting, options, context, address, {bucket});
        const Work work{bucket.data, bucket.elements, tolerance(options),
                        [&] { return scheme.allreduce->run(0); },
                        [&] { context->closeConnections(); }};
        result = measure(meeting, options, work);
    } catch (const RankLost& lost) {
        result.failure = std::string(lost.what()) + ", before the first sum";
    }
    if (!result.failure.empty()) {
        print(stderr, "allreduce_lab: rank %d: %s\n", options.rank, result.failure.c_str());
    }
    const std::optional<Bounded> bounded = bounded_of(meeting, scheme, result);
    if (options.rank == 0) {
        return tell(options, result, hosts, clock_overhead(steady_seconds),
                    bounded ? &*bounded : nullptr);
    }
    const int code = result.failure.empty() ? kSuccess : kFailure;
    return result.signal != 0 ? interrupted_code(result.signal) : code;
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
