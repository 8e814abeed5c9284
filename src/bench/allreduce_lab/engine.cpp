#include "allreduce_lab/engine.hpp"

#include "allreduce_lab/tar.hpp"

#include <algorithm>
#include <array>

namespace allreduce_lab {

namespace {

double calibrated_bound(Meeting& meeting, const Options& options, const Context& context,
                        const std::vector<Bucket>& buckets) {
    const std::vector<Bucket> largest = {
        *std::max_element(buckets.begin(), buckets.end(), [](const Bucket& a, const Bucket& b) {
            return a.elements < b.elements;
        })};
    const auto transport = tcp_transport(context, shards_of(options, largest));
    Tar tar(options, largest, *transport, false);
    std::array<std::vector<double>, 2> samples;
    for (std::uint64_t sum = 0; sum < options.warmup + options.calibration; ++sum) {
        meeting.barrier();
        meeting.together(
            "calibration", [&] { (void)tar.run(0); }, [&] { context->closeConnections(); });
        for (std::size_t stage = 0; stage < samples.size() && sum >= options.warmup; ++stage) {
            samples[stage].push_back(tar.stages()[stage].seconds);
        }
    }
    const double cap = static_cast<double>(options.bound_cap) / 100.0;
    const std::vector<double> bounds =
        meeting.exchange(std::max(stage_bound(samples[0], cap), stage_bound(samples[1], cap)));
    return *std::max_element(bounds.begin(), bounds.end());
}

} // namespace

Engine engine(Meeting& meeting, const Options& options, const Context& context, in_addr address,
              const std::vector<Bucket>& buckets) {
    Engine result;
    if (options.scheme == Scheme::TarTcp) {
        result.transport = tcp_transport(context, shards_of(options, buckets));
    } else if (options.scheme == Scheme::Optireduce) {
        result.bound = options.bound > 0 ? static_cast<double>(options.bound) * 1e-3
                                         : calibrated_bound(meeting, options, context, buckets);
        auto bounded =
            udp_transport(meeting, options, address, shards_of(options, buckets), result.bound);
        result.bounded = bounded.get();
        result.transport = std::move(bounded);
    } else {
        result.allreduce = gloo_allreduce(options, context, buckets);
        return result;
    }
    result.allreduce = std::make_unique<Tar>(options, buckets, *result.transport,
                                             result.bounded != nullptr && options.spread);
    return result;
}

} // namespace allreduce_lab
