#include "allreduce_lab/tar.hpp"

#include "allreduce_lab/hadamard.hpp"
#include "common/interrupt.hpp"

#include <algorithm>
#include <stdexcept>

namespace allreduce_lab {

namespace {

constexpr double kOfRounding = 5e-3; // of the transform, for each rank

double percent(std::uint64_t part, std::uint64_t all) {
    constexpr double kPercent = 100.0;
    return kPercent * static_cast<double>(part) /
           static_cast<double>(std::max<std::uint64_t>(all, 1));
}

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
      places_(ranks_), summed_(buckets_.size()) {
    const std::vector<std::size_t> shards = shards_of(options, buckets_);
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
        const std::size_t all = filled(buckets_[bucket].elements);
        if (spread_) {
            blocks_.resize(std::max(blocks_.size(), all));
            summed_[bucket].padding.resize(all - buckets_[bucket].elements);
        }
        Came& came = summed_[bucket].came;
        came.shard = shards[bucket];
        came.piece = transport.piece();
        came.lacks.resize(ranks_ * came.pieces());
    }
}

Outcome Tar::run(std::size_t bucket) {
    Summed& summed = summed_[bucket];
    shard_ = transport_.shard(sequence_);
    filled_ = filled(buckets_[bucket].elements);
    summed.seed = options_.seed + sequence_;
    lay_out(buckets_[bucket], summed.seed);
    stages_[0] = exchange(PacketKind::Scatter);
    sum_own_shard(summed.came);
    const auto interrupted = [] { return bench::interrupted_by() != 0; }; // ends stages at once
    if (interrupted() ||
        percent(stages_[0].lost, stages_[0].expected) > static_cast<double>(options_.skip_loss)) {
        transport_.skip();
    }
    stages_[1] = exchange(PacketKind::Gather);
    summed.skipped = transport_.skips() || interrupted();
    if (!summed.skipped) {
        gather_shards(summed);
    }
    ++sequence_;
    Outcome result = outcome();
    const double loss = percent(result.lost, result.expected);
    if (!interrupted() && loss > static_cast<double>(options_.halt_loss)) {
        throw std::runtime_error("lost " + std::to_string(loss) + " % of a bucket, more than " +
                                 std::to_string(options_.halt_loss) +
                                 " % (--halt-loss): training on would do harm");
    }
    if (summed.skipped) {
        result.skipped = 1;
        transport_.lengthen();
        return result;
    }
    bring_back(buckets_[bucket], summed);
    return result;
}

void Tar::lay_out(const Bucket& bucket, std::uint64_t seed) {
    float* const work = transport_.work();
    float* const vector = spread_ ? blocks_.data() : work;
    std::copy(bucket.data, bucket.data + bucket.elements, vector);
    std::fill(vector + bucket.elements, vector + filled_, 0.0F);
    if (spread_) {
        hadamard(vector, filled_, options_.hadamard_block, seed);
        wire().lay(vector, work);
    }
    std::fill(work + filled_, work + shard_ * ranks_, 0.0F);
}

void Tar::bring_back(const Bucket& bucket, Summed& summed) {
    const float* vector = transport_.work();
    if (spread_) {
        wire().take_up(vector, blocks_.data());
        inverse_hadamard(blocks_.data(), filled_, options_.hadamard_block, summed.seed);
        vector = blocks_.data();
        std::copy(vector + bucket.elements, vector + filled_, summed.padding.begin());
    }
    std::copy(vector, vector + bucket.elements, bucket.data);
}

StageEnd Tar::exchange(PacketKind stage) {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const std::size_t whose = stage == PacketKind::Scatter ? rank : rank_;
        places_[rank] = shard_of(whose, sequence_, ranks_) * shard_;
    }
    return transport_.exchange(stage, sequence_, places_);
}

// The mean of what came, times the ranks: whatever is missing, the expectation is the sum.
void Tar::sum_own_shard(Came& came) {
    const std::size_t whose = shard_of(rank_, sequence_, ranks_);
    float* const own = transport_.work() + whose * shard_;
    for (std::size_t begin = 0, piece = 0; begin < shard_; begin += transport_.piece(), ++piece) {
        const std::size_t end = std::min(begin + transport_.piece(), shard_);
        std::size_t contributions = 1;
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
            if (rank == rank_ || !transport_.has(PacketKind::Scatter, rank, piece)) {
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
        transport_.set_lacks(piece, ranks_ - contributions);
        came.of(whose, piece) = transport_.own_lacks(piece);
    }
}

// What never came is the own part, as many times as fits what did come: once where ranks have
// nothing in common, and as often as there are ranks where all have the same.
void Tar::gather_shards(Summed& summed) {
    summed.factor = 1.0F;
    if (stages_[1].lost > 0) {
        double both = 0.0;
        double own = 0.0;
        each_gathered([&](const float* other, const float* work, std::size_t count) {
            for (std::size_t index = 0; other != nullptr && index < count; ++index) {
                both += double{other[index]} * double{work[index]};
                own += double{work[index]} * double{work[index]};
            }
        });
        const double fitted = own > 0 ? both / own : 1.0;
        summed.factor = static_cast<float>(std::clamp(fitted, 0.0, static_cast<double>(ranks_)));
    }
    each_gathered([&](const float* other, float* work, std::size_t count) {
        if (other != nullptr) {
            std::copy(other, other + count, work);
            return;
        }
        for (std::size_t index = 0; index < count; ++index) {
            work[index] *= summed.factor;
        }
    });
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        for (std::size_t piece = 0; rank != rank_ && piece < summed.came.pieces(); ++piece) {
            summed.came.of(shard_of(rank, sequence_, ranks_), piece) =
                transport_.has(PacketKind::Gather, rank, piece) ? transport_.lacks(rank, piece)
                                                                : Came::kNothing;
        }
    }
}

template <class Use>
void Tar::each_gathered(Use use) {
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        float* const work = transport_.work() + shard_of(rank, sequence_, ranks_) * shard_;
        const float* const other = transport_.from(PacketKind::Gather, rank);
        for (std::size_t begin = 0, piece = 0; rank != rank_ && begin < shard_;
             begin += transport_.piece(), ++piece) {
            const bool has = transport_.has(PacketKind::Gather, rank, piece);
            use(has ? other + begin : nullptr, work + begin,
                std::min(transport_.piece(), shard_ - begin));
        }
    }
}

Deviation Tar::compare(std::size_t bucket, const Stretch& part, Turn turn, int ranks) {
    const Summed& summed = summed_[bucket];
    if (summed.skipped) {
        Deviation result;
        result.wrong = compare_own(part, turn, options_.rank).wrong;
        return result;
    }
    const auto& lacks = summed.came.lacks;
    if (std::any_of(lacks.begin(), lacks.end(), [](std::uint8_t each) { return each > 0; })) {
        return compare_lossy(summed, part, turn, ranks);
    }
    return allreduce_lab::compare(part, turn, ranks, spread_ ? kOfRounding * ranks : 0.0);
}

Deviation Tar::compare_lossy(const Summed& summed, const Stretch& part, Turn turn, int ranks) {
    const std::size_t block = options_.hadamard_block;
    const std::size_t count = filled(part.count);
    const Wire order(count / block, block);
    std::vector<float> expected(count);
    fill_with_sum({expected.data(), part.count, part.first}, turn, ranks);
    Deviation result =
        allreduce_lab::compare(part.data, expected.data(), part.count, 0.0); // for its error alone
    result.wrong.reset();
    result.exact = 0;
    std::vector<float> found(part.data, part.data + part.count);
    std::vector<float> own(count);
    fill({own.data(), part.count, part.first}, turn, options_.rank);
    if (spread_) {
        found.insert(found.end(), summed.padding.begin(), summed.padding.end());
        std::vector<float> laid(count);
        for (std::vector<float>* each : {&expected, &found, &own}) {
            hadamard(each->data(), count, block, summed.seed);
            order.lay(each->data(), laid.data());
            each->swap(laid);
        }
    }
    found.resize(count);
    std::transform(own.begin(), own.end(), own.begin(),
                   [&](float each) { return each * summed.factor; });
    look_at({found.data(), expected.data(), own.data(), part.count,
             turn.given == nullptr ? kEnergy : 0.0, spread_},
            ranks, block, order, summed.came, result);
    if (result.wrong) {
        result.wrong->index += part.first;
    }
    return result;
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
