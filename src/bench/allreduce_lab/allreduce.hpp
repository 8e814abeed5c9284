// A sum over all ranks, whatever the scheme.
#pragma once

#include "allreduce_lab/meeting.hpp"
#include "allreduce_lab/options.hpp"
#include "allreduce_lab/vectors.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <gloo/context.h>
#include <memory>
#include <vector>

namespace allreduce_lab {

/// A vector that is summed: always the same memory.
struct Bucket {
    float* data;
    std::size_t elements;
};

/// How the sums of a bounded transport went; all zero for those that lose nothing.
struct Outcome {
    std::uint64_t expected = 0;          ///< packets from other ranks
    std::uint64_t lost = 0;              ///< of these, not there in time
    std::array<std::uint64_t, 3> ends{}; ///< stages that ended full, early, at the bound
    std::uint64_t skipped = 0;           ///< buckets that lost too much and were not summed
};

class Allreduce {
  public:
    Allreduce() = default;
    virtual ~Allreduce() = default;
    Allreduce(const Allreduce&) = delete;
    Allreduce& operator=(const Allreduce&) = delete;
    Allreduce(Allreduce&&) = delete;
    Allreduce& operator=(Allreduce&&) = delete;

    /// Sums the bucket of that index over all ranks, in place. Throws std::exception if a peer
    /// fails.
    virtual Outcome run(std::size_t bucket) = 0;

    /// Looks at that sum of the bucket, which is that part of the vector, outside the timed part.
    virtual Deviation compare(std::size_t bucket, const Stretch& part, Turn turn, int ranks) {
        (void)bucket;
        return allreduce_lab::compare(part, turn, ranks, 0.0); // whole numbers
    }
};

using Context = std::shared_ptr<gloo::Context>;

/// A full mesh of connections of gloo.
Context connected(Rendezvous& rendezvous, const Options& options, in_addr address);

/// The schemes of gloo, for these buckets.
std::unique_ptr<Allreduce> gloo_allreduce(Scheme scheme, const Context& context,
                                          const std::vector<Bucket>& buckets);

} // namespace allreduce_lab
