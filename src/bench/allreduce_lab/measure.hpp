// The timed sums, and what each was found to be.
#pragma once

#include "allreduce_lab/learner.hpp"
#include "allreduce_lab/traffic.hpp"

#include <functional>
#include <string>
#include <vector>

namespace allreduce_lab {

/// What the sums of a run came to, the same on all ranks.
struct Result {
    std::vector<double> seconds; ///< of each sum, on the rank that took longest
    Outcome outcome;             ///< of all sums and ranks
    double error = 0.0;          ///< mean square error of a sum over its mean square: mean of sums
    double peak = 0.0;           ///< largest error over the root of that mean square
    std::uint64_t inexact = 0;   ///< sums that lost packets, whose errors these are
    std::uint64_t unchecked = 0; ///< sums in use of which no float had one value that it could have
    std::uint64_t exact = 0;     ///< floats that were compared with the one that they must have
    std::uint64_t disagreed = 0; ///< sums that some ranks skipped, and others took back
    std::uint64_t hit = 0;       ///< sums beside which other traffic was on
    double beside = 0.0;         ///< bytes that it sent during the sums
    std::vector<double> learned_seconds; ///< of sums, after each few steps of --train
    std::vector<double> accuracy;        ///< then, of the worst rank
    double drift = 0.0;  ///< of the replicas, the largest before a resync and at the end
    std::string failure; ///< why it ended early; empty if it did not
    int signal = 0;
};

/// One sum over all ranks of a vector that lies at `data`.
struct Work {
    float* data;
    std::size_t elements;
    std::function<Outcome()> sum;
    std::function<Deviation(Turn)> compare; ///< with what it must be
    std::function<void()> give_up;          ///< lets peers that wait for this rank know
    Learner* learner = nullptr;             ///< whose gradients are summed, with --train
};

/// Warms up, then times the `sum` of each work in turn, again and again, each time on new data and
/// after a barrier. The clock runs from its call to its return; data is made and looked at outside.
/// What ends the run early is told in the result of the work at which it came. `traffic` is what
/// goes on beside them, or nullptr.
std::vector<Result> measure(Meeting& meeting, const Options& options,
                            const std::vector<Work>& works, const Traffic* traffic);

} // namespace allreduce_lab
