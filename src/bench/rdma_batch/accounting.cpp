#include "rdma_batch/accounting.hpp"

#include "common/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace rdma_batch {

namespace {

// Sums and quotients of doubles; the figures themselves are exact.
constexpr double kRounding = 1e-9;

bool differs(double found, double expected) {
    return std::fabs(found - expected) > kRounding * std::fabs(expected);
}

std::string sentence(const char* name, double expected, double found) {
    return std::string(name) + ": expected " + std::to_string(expected) + ", found " +
           std::to_string(found);
}

} // namespace

RowResult make_row(Shape shape, std::uint64_t slots, const std::vector<Sample>& samples,
                   std::optional<bool> valid) {
    if (samples.empty()) {
        throw std::invalid_argument("a row needs at least one batch");
    }
    RowResult row;
    row.shape = shape;
    row.slots = slots;
    row.bytes = samples.front().bytes;
    row.valid = valid;
    double all_bytes = 0.0;
    for (const Sample& sample : samples) {
        if (sample.bytes != row.bytes) {
            throw std::runtime_error("expected the same number of bytes in each batch, found " +
                                     std::to_string(row.bytes) + " and " +
                                     std::to_string(sample.bytes));
        }
        all_bytes += static_cast<double>(sample.bytes);
        row.ascending.push_back(sample.seconds);
        row.max_bandwidth =
            std::max(row.max_bandwidth, static_cast<double>(sample.bytes) / sample.seconds);
    }
    std::sort(row.ascending.begin(), row.ascending.end());
    const double all_seconds = bench::sum(row.ascending);
    row.average = all_seconds / static_cast<double>(samples.size());
    row.average_bandwidth = all_bytes / all_seconds;
    return row;
}

RowResult aggregate(const std::vector<std::vector<Sample>>& ranks, const RowResult& pattern,
                    std::optional<bool> valid) {
    std::vector<Sample> together(ranks.front().size(), Sample{0.0, 0});
    for (const std::vector<Sample>& samples : ranks) {
        if (samples.size() != together.size()) {
            throw std::runtime_error("expected " + std::to_string(together.size()) +
                                     " batches of each initiator, found " +
                                     std::to_string(samples.size()));
        }
        for (std::size_t index = 0; index < samples.size(); ++index) {
            together[index].seconds = std::max(together[index].seconds, samples[index].seconds);
            together[index].bytes += samples[index].bytes;
        }
    }
    return make_row(pattern.shape, pattern.slots, together, valid);
}

std::optional<std::string> broken_identity(const RowResult& row, std::uint64_t parts) {
    const std::uint64_t expected = row.shape.size * row.shape.batch * parts;
    if (row.bytes != expected) {
        return "total = size x batch: expected " + std::to_string(expected) + " bytes, found " +
               std::to_string(row.bytes);
    }
    const auto bytes = static_cast<double>(row.bytes);
    const double best = bytes / row.ascending.front();
    if (differs(row.max_bandwidth, best)) {
        return sentence("best bandwidth = total / least time", best, row.max_bandwidth);
    }
    const double average = bytes / row.average;
    if (differs(row.average_bandwidth, average)) {
        return sentence("average bandwidth = total / average time", average, row.average_bandwidth);
    }
    return std::nullopt;
}

} // namespace rdma_batch
