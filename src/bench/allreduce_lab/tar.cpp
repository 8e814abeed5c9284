#include "allreduce_lab/tar.hpp"

#include "allreduce_lab/hadamard.hpp"

#include <algorithm>
#include <stdexcept>

namespace allreduce_lab {

namespace {

constexpr double kPercent = 100.0;

} // namespace

std::vector<std::size_t> shards_of(const Options& options, const std::vector<Bucket>& buckets) {
    std::vector<std::size_t> shards;
    shards.reserve(buckets.size());
    for (const Bucket& bucket : buckets) {
        shards.push_back(shard_floats(bucket.elements, static_cast<std::size_t>(options.size),
                                      options.hadamard_block));
    }
    return shards;
}

Tar::Tar(const Options& options, std::vector<Bucket> buckets, Transport& transport, bool spread)
    : options_(options), buckets_(std::move(buckets)), transport_(transport), spread_(spread),
      ranks_(static_cast<std::size_t>(options.size)), rank_(static_cast<std::size_t>(options.rank)),
      places_(ranks_) {
    for (const Bucket& bucket : buckets_) {
        missing_.resize(std::max(missing_.size(), bucket.elements / options.hadamard_block + 1));
    }
}

Outcome Tar::run(std::size_t bucket) {
    const auto [data, elements] = buckets_[bucket];
    const std::size_t block = options_.hadamard_block;
    shard_ = transport_.shard(sequence_);
    filled_ = (elements + block - 1) / block * block;
    float* const work = transport_.work();
    std::copy(data, data + elements, work);
    std::fill(work + elements, work + shard_ * ranks_, 0.0F);
    const std::uint64_t seed = options_.seed + sequence_;
    if (spread_) {
        hadamard(work, filled_, block, seed);
    }
    stages_[0] = exchange(PacketKind::Scatter);
    sum_own_shard();
    stages_[1] = exchange(PacketKind::Gather);
    gather_shards();
    ++sequence_;
    Outcome result = outcome();
    const double loss = kPercent * static_cast<double>(result.lost) /
                        static_cast<double>(std::max<std::uint64_t>(result.expected, 1));
    if (loss > static_cast<double>(options_.halt_loss)) {
        throw std::runtime_error("lost " + std::to_string(loss) + " % of a bucket, more than " +
                                 std::to_string(options_.halt_loss) +
                                 " % (--halt-loss): training on would do harm");
    }
    if (loss > static_cast<double>(options_.skip_loss)) {
        result.skipped = 1;
        return result;
    }
    if (spread_) {
        scale_blocks();
        inverse_hadamard(work, filled_, block, seed);
    }
    std::copy(work, work + elements, data);
    return result;
}

StageEnd Tar::exchange(PacketKind stage) {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const std::size_t whose = stage == PacketKind::Scatter ? rank : rank_;
        places_[rank] = shard_of(whose, sequence_, ranks_) * shard_;
    }
    return transport_.exchange(stage, sequence_, places_);
}

// The mean of what came, times the ranks: whatever is missing, the expectation is the sum.
void Tar::sum_own_shard() {
    float* const own = transport_.work() + shard_of(rank_, sequence_, ranks_) * shard_;
    for (std::size_t begin = 0; begin < shard_; begin += transport_.piece()) {
        const std::size_t end = std::min(begin + transport_.piece(), shard_);
        std::size_t contributions = 1;
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            if (rank == rank_ ||
                !transport_.has(PacketKind::Scatter, rank, begin / transport_.piece())) {
                continue;
            }
            ++contributions;
            const float* const other = transport_.from(PacketKind::Scatter, rank);
            for (std::size_t index = begin; index < end; ++index) {
                own[index] += other[index];
            }
        }
        if (contributions < ranks_) {
            const float scale = static_cast<float>(ranks_) / static_cast<float>(contributions);
            for (std::size_t index = begin; index < end; ++index) {
                own[index] *= scale;
            }
        }
    }
}

void Tar::gather_shards() {
    std::fill(missing_.begin(), missing_.end(), 0);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        if (rank == rank_) {
            continue;
        }
        const std::size_t place = shard_of(rank, sequence_, ranks_) * shard_;
        const float* const other = transport_.from(PacketKind::Gather, rank);
        for (std::size_t begin = 0; begin < shard_; begin += transport_.piece()) {
            const std::size_t end = std::min(begin + transport_.piece(), shard_);
            if (transport_.has(PacketKind::Gather, rank, begin / transport_.piece())) {
                std::copy(other + begin, other + end, transport_.work() + place + begin);
            } else {
                keep_or_clear(place + begin, place + end);
            }
        }
    }
}

// Nobody summed this for us. Spread over a block, zeros only make the block smaller, which is
// mended afterwards; without the transform the own part, times the ranks, is the best guess.
void Tar::keep_or_clear(std::size_t begin, std::size_t end) {
    float* const work = transport_.work();
    for (std::size_t index = begin; index < end; ++index) {
        work[index] = spread_ ? 0.0F : work[index] * static_cast<float>(ranks_);
        if (index < filled_) {
            ++missing_[index / options_.hadamard_block];
        }
    }
}

void Tar::scale_blocks() {
    const std::size_t block = options_.hadamard_block;
    for (std::size_t begin = 0; begin < filled_; begin += block) {
        const std::uint32_t missing = missing_[begin / block];
        if (missing == 0 || missing == block) {
            continue;
        }
        const float scale = static_cast<float>(block) / static_cast<float>(block - missing);
        float* const work = transport_.work() + begin;
        for (std::size_t index = 0; index < block; ++index) {
            work[index] *= scale;
        }
    }
}

Outcome Tar::outcome() const {
    Outcome result;
    for (const StageEnd& stage : stages_) {
        result.expected += stage.expected;
        result.lost += stage.lost;
        ++result.ends[static_cast<std::size_t>(stage.end)];
    }
    return result;
}

} // namespace allreduce_lab
