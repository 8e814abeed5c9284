#include "allreduce_lab/engine.hpp"

#include "allreduce_lab/tar.hpp"
#include "common/statistics.hpp"

#include <algorithm>

namespace allreduce_lab {

namespace {

Bound calibrated_bound(Meeting& meeting, Options options, const Context& context, in_addr address,
                       const std::vector<Bucket>& buckets, std::vector<Work> works) {
    options.skip_loss = options.halt_loss = 100; // of a sum that nobody uses
    options.iterations = options.calibration;
    options.warmup = 0;
    options.inject_error = false;
    options.time_budget.reset();
    const std::vector<Bucket> largest = {
        *std::max_element(buckets.begin(), buckets.end(), [](const Bucket& a, const Bucket& b) {
            return a.elements < b.elements;
        })};
    const auto transport = udp_transport(meeting, options, address, shards_of(options, largest),
                                         options.timeout, true);
    Tar tar(options, largest, *transport, options.spread);
    std::array<Arrivals, 3> arrivals; // of all sums, and of each half of them
    std::uint64_t sums = 0;
    const auto [data, elements] = largest[0];
    works.push_back({data, elements,
                     [&] {
                         const Outcome outcome = tar.run(0);
                         if (++sums == (options.calibration + 1) / 2) {
                             arrivals[1] = transport->arrivals();
                         }
                         return outcome;
                     },
                     [&, data = data, elements = elements](Turn turn) {
                         return tar.compare(0, {data, elements}, turn, options.size);
                     },
                     [&context] { context->closeConnections(); }, nullptr});
    for (Work& each : works) {
        each.learner = nullptr;
    }
    std::vector<Result> results = measure(meeting, options, works, nullptr);
    for (const Result& each : results) {
        if (each.signal != 0) {
            throw Interrupted(each.signal);
        }
        if (!each.failure.empty()) {
            throw RankLost(each.failure);
        }
    }
    Result& result = results.back();
    std::sort(result.seconds.begin(), result.seconds.end());
    // Bursts hit less than a quarter of the sums; of flows the median would jump between modes.
    const double typical = bench::percentile_of_sorted(result.seconds, {75'000});
    arrivals[0] = arrivals[2] = transport->arrivals();
    arrivals[2].subtract(arrivals[1]);
    std::vector<double> bounds;
    for (const Arrivals& own : arrivals) {
        Arrivals all;
        for (const Arrivals& each : meeting.exchange(own)) {
            all.add(each);
        }
        bounds.push_back(
            stage_bound(all, typical, options.loss_target / 100.0, options.tail_target));
    }
    return {bounds[0], {bounds[1], bounds[2]}};
}

} // namespace

Engine engine(Meeting& meeting, const Options& options, Scheme scheme, const Context& context,
              in_addr address, const std::vector<Bucket>& buckets,
              const std::vector<Work>& others) {
    Engine result;
    if (scheme == Scheme::TarTcp) {
        result.transport = tcp_transport(context, shards_of(options, buckets));
    } else if (scheme == Scheme::Optireduce) {
        result.bound = options.bound > 0
                           ? Bound{static_cast<double>(options.bound) * 1e-3, {}}
                           : calibrated_bound(meeting, options, context, address, buckets, others);
        auto bounded = udp_transport(meeting, options, address, shards_of(options, buckets),
                                     result.bound.seconds);
        result.bounded = bounded.get();
        result.transport = std::move(bounded);
    } else {
        result.allreduce = gloo_allreduce(scheme, context, buckets);
        return result;
    }
    result.allreduce = std::make_unique<Tar>(options, buckets, *result.transport,
                                             result.bounded != nullptr && options.spread);
    return result;
}

} // namespace allreduce_lab
