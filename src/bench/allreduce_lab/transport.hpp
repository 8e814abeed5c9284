// How the shards of a transpose allreduce travel. Another backend is another class of this kind.
#pragma once

#include "allreduce_lab/allreduce.hpp"
#include "allreduce_lab/bounds.hpp"
#include "allreduce_lab/check.hpp"
#include "allreduce_lab/packet.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace allreduce_lab {

struct StageEnd {
    End end = End::Full;
    std::uint64_t expected = 0; ///< pieces from other ranks
    std::uint64_t lost = 0;
    double seconds = 0.0;
};

class Transport {
  public:
    /// Room for buckets of these shards, in floats, which come in this order again and again. A
    /// piece is what may be lost: `piece` floats, fewer at the end of a shard.
    Transport(int size, std::vector<std::size_t> shards, std::size_t piece)
        : size_(size), shards_(std::move(shards)), piece_(piece),
          largest_(*std::max_element(shards_.begin(), shards_.end())),
          work_(largest_ * static_cast<std::size_t>(size)), own_lacks_(pieces(largest_)) {}
    virtual ~Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    Transport(Transport&&) = delete;
    Transport& operator=(Transport&&) = delete;

    /// Sends each rank the shard that begins at its place in work(), and receives one from each.
    virtual StageEnd exchange(PacketKind stage, std::uint64_t bucket,
                              const std::vector<std::size_t>& places) = 0;
    /// What came from that rank in that stage of the bucket just exchanged.
    [[nodiscard]] virtual const float* from(PacketKind stage, std::size_t rank) const = 0;
    [[nodiscard]] virtual bool has(PacketKind stage, std::size_t rank, std::size_t piece) const = 0;
    /// How many contributions a piece that this rank summed lacks, which its gather tells the
    /// others, up to Came::kMany.
    void set_lacks(std::size_t piece, std::size_t count) {
        own_lacks_[piece] = static_cast<std::uint8_t>(std::min<std::size_t>(count, Came::kMany));
    }
    /// What that rank told of a piece that it summed.
    [[nodiscard]] virtual std::uint8_t lacks(std::size_t rank, std::size_t piece) const = 0;
    /// Lets the gather of this bucket tell all others that its sum is not to be used.
    virtual void skip() {}
    /// Whether this rank, or another one whose gather came, told so.
    [[nodiscard]] virtual bool skips() const { return false; }
    /// Gives the sums from now on more time, after one that all ranks skipped.
    virtual void lengthen() {}

    [[nodiscard]] float* work() { return work_.data(); }
    [[nodiscard]] std::size_t piece() const { return piece_; }
    [[nodiscard]] std::size_t shard(std::uint64_t bucket) const {
        return shards_[bucket % shards_.size()];
    }
    [[nodiscard]] std::uint8_t own_lacks(std::size_t piece) const { return own_lacks_[piece]; }

  protected:
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] std::size_t largest() const { return largest_; }
    [[nodiscard]] std::size_t pieces(std::size_t shard) const {
        return (shard + piece_ - 1) / piece_;
    }

  private:
    int size_;
    std::vector<std::size_t> shards_;
    std::size_t piece_;
    std::size_t largest_;
    std::vector<float> work_;
    std::vector<std::uint8_t> own_lacks_; ///< of each piece
};

/// Over gloo's connections: nothing is lost, and the slowest peer is waited for.
std::unique_ptr<Transport> tcp_transport(const Context& context, std::vector<std::size_t> shards);

/// What came to the socket of a bounded transport and was not summed, or not in order.
struct Odd {
    std::uint64_t late = 0;      ///< of a stage that has ended
    std::uint64_t ahead = 0;     ///< of a bucket after the next
    std::uint64_t duplicate = 0; ///< there already
    std::uint64_t foreign = 0;   ///< of another run, or not from the rank that it names
    std::uint64_t malformed = 0; ///< no packet of this version, or not as long as it must be
    std::uint64_t reordered = 0; ///< after a later one of its shard; summed all the same
    std::uint64_t unsent = 0;    ///< the stage was over before this rank had sent them
};

class UdpTransport : public Transport {
  public:
    [[nodiscard]] virtual const Odd& odd() const = 0;
    /// t_B as it is now, in seconds.
    [[nodiscard]] virtual double bound() const = 0;
    /// When packets came, of all stages.
    [[nodiscard]] virtual const Arrivals& arrivals() const = 0;

  protected:
    using Transport::Transport;
};

/// Over datagrams: a sum ends after twice `bound` seconds whatever is missing, one of a smaller
/// bucket after as much less. The gather has what the scatter leaves, its typical time at least.
/// One that `calibrates` ends once nothing has come for long, too.
std::unique_ptr<UdpTransport> udp_transport(Meeting& meeting, const Options& options,
                                            in_addr address, std::vector<std::size_t> shards,
                                            double bound, bool calibrates = false);

} // namespace allreduce_lab
