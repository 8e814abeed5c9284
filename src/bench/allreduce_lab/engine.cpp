#include "allreduce_lab/engine.hpp"

#include "allreduce_lab/tar.hpp"
#include "common/interrupt.hpp"
#include "common/statistics.hpp"

#include <algorithm>

namespace allreduce_lab {

namespace {

double calibrated_bound(Meeting& meeting, Options options, const Context& context, in_addr address,
                        const std::vector<Bucket>& buckets) {
    options.skip_loss = options.halt_loss = 100; // of a sum that nobody uses
    const std::vector<Bucket> largest = {
        *std::max_element(buckets.begin(), buckets.end(), [](const Bucket& a, const Bucket& b) {
            return a.elements < b.elements;
        })};
    const auto transport = udp_transport(meeting, options, address, shards_of(options, largest),
                                         options.timeout, true);
    Tar tar(options, largest, *transport, options.spread);
    std::vector<double> samples;
    for (std::uint64_t sum = 0; sum < options.calibration; ++sum) {
        std::fill(largest[0].data, largest[0].data + largest[0].elements, 0.0F);
        for (const int signal : meeting.exchange(bench::interrupted_by())) {
            if (signal != 0) {
                throw Interrupted(signal);
            }
        }
        meeting.together(
            "calibration", [&] { (void)tar.run(0); }, [&] { context->closeConnections(); });
        samples.push_back(std::max(tar.stages()[0].seconds, tar.stages()[1].seconds));
    }
    std::sort(samples.begin(), samples.end());
    Arrivals arrivals;
    for (const Arrivals& each : meeting.exchange(transport->arrivals())) {
        arrivals.add(each);
    }
    double typical = 0.0;
    for (const double each : meeting.exchange(bench::percentile_of_sorted(samples, {50'000}))) {
        typical = std::max(typical, each);
    }
    return stage_bound(arrivals, typical, options.loss_target / 100.0);
}

} // namespace

Engine engine(Meeting& meeting, const Options& options, Scheme scheme, const Context& context,
              in_addr address, const std::vector<Bucket>& buckets) {
    Engine result;
    if (scheme == Scheme::TarTcp) {
        result.transport = tcp_transport(context, shards_of(options, buckets));
    } else if (scheme == Scheme::Optireduce) {
        result.bound = options.bound > 0
                           ? static_cast<double>(options.bound) * 1e-3
                           : calibrated_bound(meeting, options, context, address, buckets);
        auto bounded =
            udp_transport(meeting, options, address, shards_of(options, buckets), result.bound);
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
