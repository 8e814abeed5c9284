#include "allreduce_lab/training.hpp"

#include <chrono>
#include <thread>

namespace allreduce_lab {

std::vector<Bucket> buckets_of(const Options& options, float* data) {
    if (options.buckets.empty()) {
        return {{data, options.elements}};
    }
    std::vector<Bucket> buckets;
    for (const std::uint64_t bytes : options.buckets) {
        buckets.push_back({data, bytes / sizeof(float)});
        data += bytes / sizeof(float);
    }
    return buckets;
}

Outcome train(Allreduce& allreduce, const std::vector<Bucket>& buckets, double compute) {
    constexpr double kForward = 1.0 / 3;
    const auto begin = std::chrono::steady_clock::now();
    const auto wait_until = [&](double seconds) {
        std::this_thread::sleep_until(begin + std::chrono::duration<double>(seconds));
    };
    double all = 0.0;
    for (const Bucket& bucket : buckets) {
        all += static_cast<double>(bucket.elements);
    }
    Outcome outcome;
    double made = 0.0;
    for (std::size_t index = 0; index < buckets.size(); ++index) {
        made += static_cast<double>(buckets[index].elements);
        if (compute > 0.0) {
            wait_until(compute * (kForward + (1 - kForward) * made / all));
        }
        add(outcome, allreduce.run(index));
    }
    if (compute > 0.0) {
        wait_until(compute);
    }
    return outcome;
}

Deviation compare(Allreduce& allreduce, const std::vector<Bucket>& buckets, Turn turn, int ranks) {
    Deviation total;
    std::size_t first = 0;
    for (std::size_t index = 0; index < buckets.size(); ++index) {
        const auto [data, elements] = buckets[index];
        add(total, allreduce.compare(index, {data, elements, first}, turn, ranks));
        first += elements;
    }
    return total;
}

void add(Outcome& total, const Outcome& outcome) {
    total.expected += outcome.expected;
    total.lost += outcome.lost;
    total.skipped += outcome.skipped;
    for (std::size_t end = 0; end < total.ends.size(); ++end) {
        total.ends[end] += outcome.ends[end];
    }
}

} // namespace allreduce_lab
