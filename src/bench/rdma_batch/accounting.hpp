// What a row of the table says, and the identities that must hold between its figures.
//
// The time of a batch is from before its first post to after its last completion. The bytes are
// counted from completions, not from what was asked for, and both bandwidths are taken from the
// single batches; so the identities tie together figures that were found on different ways.
#pragma once

#include "rdma_batch/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdma_batch {

/// One timed batch: its time in seconds, and the bytes whose completion was seen.
struct Sample {
    double seconds;
    std::uint64_t bytes;
};

/// What was measured for one shape by one initiator, or by all of them together.
struct RowResult {
    Shape shape{0, 0};
    std::uint64_t slots = 0; ///< places in the buffer; fewer than the batch where memory is capped
    std::uint64_t bytes = 0; ///< completed in each batch
    std::vector<double> ascending;  ///< seconds of the batches
    double average = 0.0;           ///< seconds
    double max_bandwidth = 0.0;     ///< bytes/s of the best batch
    double average_bandwidth = 0.0; ///< all bytes over all time
    std::optional<bool> valid;      ///< none: not compared
};

/// Makes a row of its batches; at least one. Throws std::invalid_argument for none, and
/// std::runtime_error with one sentence if the batches did not complete the same number of bytes.
RowResult make_row(Shape shape, std::uint64_t slots, const std::vector<Sample>& samples,
                   std::optional<bool> valid);

/// The row of all initiators together: a batch takes as long as its slowest part. All ranks have
/// the same number of samples, in the order in which they ran at the same time.
RowResult aggregate(const std::vector<std::vector<Sample>>& ranks, const RowResult& pattern,
                    std::optional<bool> valid);

/// The identity that a row breaks, in one sentence; nothing if all hold: total = size x batch,
/// best bandwidth = total / least time, average bandwidth = total / average time.
std::optional<std::string> broken_identity(const RowResult& row, std::uint64_t parts = 1);

} // namespace rdma_batch
