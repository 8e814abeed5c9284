// An iteration of a training: its buckets get ready while the processors of another kind compute.
#pragma once

#include "allreduce_lab/allreduce.hpp"

namespace allreduce_lab {

/// The vector cut into buckets: those of --buckets, or one.
std::vector<Bucket> buckets_of(const Options& options, float* data);

/// Sums each bucket once it is ready, in their order, and returns when the computing is over too.
/// A third of it is the forward pass; a bucket is ready when the backward pass has made as many
/// bytes as it and those before it have. Computing is waiting: it needs no core of the host's.
Outcome train(Allreduce& allreduce, const std::vector<Bucket>& buckets, double compute);

/// What each of them was found to be, as parts of the vector.
Deviation compare(Allreduce& allreduce, const std::vector<Bucket>& buckets, Turn turn, int ranks);

void add(Outcome& total, const Outcome& outcome);

} // namespace allreduce_lab
