// When a stage of the bounded transport ends, and how many send at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace allreduce_lab {

/// When the packets of stages came, in bins each of which is 2 % longer than the one before.
class Arrivals {
  public:
    /// In seconds since the stage began.
    void note(double seconds);
    void add(const Arrivals& other);
    /// Leaves those that came after the others, which are among them.
    void subtract(const Arrivals& others);
    /// The time by which that share of them had come.
    [[nodiscard]] double by(double share) const;

  private:
    std::array<std::uint32_t, 700> bins_{}; ///< from 10 us to 10 s
};

/// t_B, half the time after which a sum ends whatever is missing: so that a share of `loss` of the
/// packets would come after it in a stage, but a little more than half of a `typical` sum, of whose
/// packets none may be late, and not more than `most` times that.
double stage_bound(const Arrivals& arrivals, double typical, double loss, double most);

/// How a stage ended: all was there; all senders said their last and a share of t_C passed; t_B.
enum class End : std::uint8_t { Full, Early, Bound };

/// t_C and the share of it that a stage still waits once every sender's last packets are there.
class EarlyEnd {
  public:
    /// Until a stage has told it, t_C is the bound, in seconds.
    explicit EarlyEnd(double bound) : typical_(bound) {}

    /// What a stage took, or would have: the time until every sender had said its last, or until
    /// it was cut, over the share of packets that came. The wait after that is left out, or it
    /// would feed itself.
    static double sample(End end, double elapsed, double received, double bound) {
        return end == End::Full ? elapsed : std::min(bound, elapsed / std::max(received, 0.01));
    }

    /// After each stage: the median of the samples of all ranks, and this rank's share lost.
    void note(double median, double loss);

    /// Seconds without a packet after which a stage of so many ends, once every sender has said
    /// its last: the time of a few packets at least, because the last ones come one by one.
    [[nodiscard]] double patience(std::uint64_t packets) const {
        constexpr double kFew = 4.0;
        return std::max(share_, kFew / static_cast<double>(packets)) * typical_;
    }
    [[nodiscard]] double typical() const { return typical_; }
    [[nodiscard]] double share() const { return share_; }

  private:
    double typical_;
    double share_ = 0.1;
    bool told_ = false;
};

/// Senders at once that a rank wants: one more after a stage without loss, half after one with.
class Incast {
  public:
    explicit Incast(int ranks) : most_(std::clamp(ranks - 1, 1, 15)) {}
    void note(bool lossless) {
        wanted_ = lossless ? std::min(wanted_ + 1, most_) : std::max(wanted_ / 2, 1);
    }
    [[nodiscard]] int wanted() const { return wanted_; }

  private:
    int most_;
    int wanted_ = 1;
};

} // namespace allreduce_lab
