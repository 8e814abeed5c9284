// The transpose allreduce: each rank sums one shard for all.
#pragma once

#include "allreduce_lab/schedule.hpp"
#include "allreduce_lab/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allreduce_lab {

/// Shards of buckets, for a transport.
std::vector<std::size_t> shards_of(const Options& options, const std::vector<Bucket>& buckets);

/// Buckets must be summed in their order, again and again.
class Tar : public Allreduce {
  public:
    /// `spread`: by the Hadamard transform, which a transport needs that loses packets.
    Tar(const Options& options, std::vector<Bucket> buckets, Transport& transport, bool spread);

    /// Throws std::runtime_error if more is lost than --halt-loss.
    Outcome run(std::size_t bucket) override;

    /// Of the last bucket: scatter and gather.
    [[nodiscard]] const std::array<StageEnd, 2>& stages() const { return stages_; }

  private:
    StageEnd exchange(PacketKind stage);
    void sum_own_shard();
    void gather_shards();
    void keep_or_clear(std::size_t begin, std::size_t end);
    void scale_blocks();
    [[nodiscard]] Outcome outcome() const;

    const Options& options_;
    std::vector<Bucket> buckets_;
    Transport& transport_;
    bool spread_;
    std::size_t ranks_;
    std::size_t rank_;
    std::vector<std::size_t> places_;
    std::vector<std::uint32_t> missing_; ///< floats of each block
    std::array<StageEnd, 2> stages_{};
    std::uint64_t sequence_ = 0;
    std::size_t shard_ = 0;
    std::size_t filled_ = 0; ///< floats of whole blocks
};

} // namespace allreduce_lab
