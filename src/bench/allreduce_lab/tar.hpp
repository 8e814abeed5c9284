// The transpose allreduce: each rank sums one shard for all.
#pragma once

#include "allreduce_lab/check.hpp"
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
    /// Each float that lacks nothing, by its value; the rest of them by what it lacks (look_at()).
    Deviation compare(std::size_t bucket, const Stretch& part, Turn turn, int ranks) override;

  private:
    /// How a bucket was summed last.
    struct Summed {
        bool skipped = false;
        std::uint64_t seed = 0;
        float factor = 1.0F; ///< of the own part, where nothing came
        Came came;
        std::vector<float>
            padding; ///< what became of it, without which no transform has an inverse
    };

    StageEnd exchange(PacketKind stage);
    void sum_own_shard(Came& came);
    void gather_shards(Summed& summed);
    /// What came of each piece that other ranks summed, or nullptr; its place; and its floats.
    template <class Use>
    void each_gathered(Use use);
    void lay_out(const Bucket& bucket, std::uint64_t seed);
    void bring_back(const Bucket& bucket, Summed& summed);
    [[nodiscard]] Deviation compare_lossy(const Summed& summed, const Stretch& part, Turn turn,
                                          int ranks);
    [[nodiscard]] Wire wire() const {
        return {filled_ / options_.hadamard_block, options_.hadamard_block};
    }
    [[nodiscard]] std::size_t filled(std::size_t elements) const {
        return (elements + options_.hadamard_block - 1) / options_.hadamard_block *
               options_.hadamard_block;
    }
    [[nodiscard]] Outcome outcome() const;

    const Options& options_;
    std::vector<Bucket> buckets_;
    Transport& transport_;
    bool spread_;
    std::size_t ranks_;
    std::size_t rank_;
    std::vector<std::size_t> places_;
    std::vector<float> blocks_;        ///< where they are transformed
    std::vector<Summed> summed_;       ///< of each bucket
    std::array<StageEnd, 2> stages_{}; ///< of the last bucket: scatter and gather
    std::uint64_t sequence_ = 0;
    std::size_t shard_ = 0;
    std::size_t filled_ = 0; ///< floats of whole blocks
};

} // namespace allreduce_lab
