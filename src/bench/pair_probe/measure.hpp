// One round of one rank: latency, then bandwidth there and back.
// See docs/reference/programs/pair_probe.md, "Method".
#pragma once

#include "common/gpu/job.hpp"
#include "common/gpu/nccl_session.hpp"
#include "common/world.hpp"
#include "mpi_probe/patterns.hpp"
#include "pair_probe/options.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace pair_probe {

constexpr std::size_t kMessage = std::size_t{1024} * 1024; ///< bytes of a message of the bandwidth

/// What one rank measured in a round; zeros of a rank that had no partner.
struct Measured {
    double latency = 0.0; ///< one way, seconds, the median; of the first of a pair only
    double rate = 0.0;    ///< bytes a second that this rank sent
};

/// A GPU of each rank, and NCCL between them. Made and used by all ranks.
class ByNccl {
  public:
    explicit ByNccl(const bench::World& world);

    /// Sends or receives messages that lie one after the other, and waits for their end.
    void exchange(bool sends, char* data, std::size_t bytes, int messages, int partner) const;

    void add_facts(bench::Report& report, const bench::World& world) const;

  private:
    bench::gpu::Device device_;
    std::unique_ptr<bench::gpu::Nccl> nccl_;
    bench::gpu::NcclSession session_;
};

/// Measures rounds, with all that they need allocated before.
class Pairs {
  public:
    /// `nccl` carries the data; null where MPI does.
    Pairs(const bench::World& world, const Options& options, const ByNccl* nccl);

    /// Collective over all ranks; ends the job if one of them hangs.
    Measured round(int partner, bool first, std::uint64_t number);

    /// Whether the data of the last round were right on all ranks; empty without --validate.
    /// Collective.
    std::optional<bool> is_right(std::uint64_t number);

  private:
    double lead_latency(int partner, double seconds);
    void answer_latency(int partner);
    double send(int partner, double seconds);
    void receive(int partner);
    void ping(bool sends, int partner);
    void exchange(bool sends, int partner, int messages);
    void prepare(int partner, std::uint64_t number);
    void verify(int partner, std::uint64_t number);

    const bench::World& world_;
    const Options& options_;
    const ByNccl* nccl_;
    bench::gpu::Buffer source_, target_;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
    std::vector<double> samples_;
    int window_ = 0; ///< messages of the last one that was received
    mpi_probe::Mismatch mismatch_;
};

} // namespace pair_probe
