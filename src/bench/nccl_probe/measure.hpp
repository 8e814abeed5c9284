// One size: warm-up, timed samples, check of the data.
#pragma once

#include "common/gpu/memory.hpp"
#include "common/gpu/nccl_session.hpp"
#include "nccl_probe/options.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace nccl_probe {

/// What one size gave. `valid` is known to all ranks, the rest to rank 0 only.
struct Result {
    std::uint64_t size = 0;
    std::uint64_t warmup = 0;
    std::vector<double> ascending; ///< seconds of an operation on the slowest rank, sorted
    std::optional<bool> valid;
};

/// The largest size's buffers, and the measurement of each size in them.
class Measurement {
  public:
    Measurement(const bench::World& world, const Options& options, const Nccl& nccl,
                const bench::gpu::NcclSession& session);

    /// Collective.
    Result measure(std::size_t count);

  private:
    using Buffer = bench::gpu::Buffer;

    // Blocks of this rank.
    [[nodiscard]] std::size_t sent() const;
    [[nodiscard]] std::size_t received() const;
    void prepare(std::size_t count);
    [[nodiscard]] double sample(const Call& call) const;
    /// An iteration of a training, as allreduce_lab emulates it (allreduce_lab/training.hpp).
    void iterate(const Call& call) const;
    [[nodiscard]] std::uint64_t fitting(double each) const;
    bool is_right(std::size_t count, std::uint64_t size);

    const bench::World& world_;
    const Options& options_;
    const Nccl& nccl_;
    const bench::gpu::NcclSession& session_;
    Buffer send_;
    Buffer receive_;
};

} // namespace nccl_probe
