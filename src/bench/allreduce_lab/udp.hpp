// The state of the bounded transport over datagrams, and its limits.
#pragma once

#include "allreduce_lab/schedule.hpp"
#include "allreduce_lab/slot.hpp"
#include "allreduce_lab/transport.hpp"
#include "common/arguments.hpp"
#include "common/clock.hpp"
#include "common/interrupt.hpp"

#include <algorithm>
#include <limits>
#include <sys/socket.h>

namespace allreduce_lab {

inline constexpr std::size_t kReceivedAtOnce = 32;
inline constexpr std::size_t kSentAtOnce = 16;
inline constexpr std::size_t kLastPieces = 3;  // one alone may be lost
inline constexpr double kCatchUp = 300e-6;     // seconds that a sender may be behind its rate
inline constexpr double kTimeoutUnit = 10e-6;  // seconds, of the header's field
inline constexpr double kForGather = 1.05;     // of its typical time, which the scatter leaves it
inline constexpr double kLeastBound = 2e-3;    // seconds: a thread may be woken that late
inline constexpr double kLeastPatience = 5e-4; // seconds: as that of a shorter wait
inline constexpr int kReceiveBuffer = 8 << 20; // a stage of every sender while this rank computes
inline constexpr int kSendBuffer = 128 << 10; // 167 KB of packets; more would only stand in a queue
inline constexpr double kQueueFull = 500e-6;  // seconds until it is tried again
inline constexpr double kLongestWait = 0.2;   // seconds between two looks at a signal
inline constexpr std::size_t kLargestDatagram = 65507;
// Of a calibration, which must see what comes late: no packet for so many typical stages, between
// these limits in seconds, ends a scatter; a gather, which such a rank begins late, after longer.
inline constexpr double kSilence = 20.0;
inline constexpr double kLeastSilence = 0.1;
inline constexpr double kMostSilence = 0.5;
inline constexpr double kSilenceOfGather = 3.0;

// Four skipped sums double and a half a t_B that the network has outgrown since the calibration.
inline constexpr double kLonger = 1.25;

class Udp : public UdpTransport {
  public:
    Udp(Meeting& meeting, const Options& options, in_addr address, std::vector<std::size_t> shards,
        double bound, bool calibrates)
        : UdpTransport(meeting.size(), std::move(shards), options.payload / sizeof(float)),
          own_(static_cast<std::size_t>(meeting.rank())),
          ranks_(static_cast<std::size_t>(meeting.size())), run_(meeting.run_word()),
          inject_loss_(options.inject_loss), bound_(bound), calibrates_(calibrates),
          rises_(options.bound == 0 && options.environment == Network::Elastic),
          longest_(std::max(bound, options.timeout / 2)),
          socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
          early_{EarlyEnd(bound), EarlyEnd(bound)}, incast_(meeting.size()),
          rate_(static_cast<double>(options.rate) * 1e6 / 8), peer_timeouts_(ranks_),
          peer_incasts_(ranks_, 1), samples_(ranks_) {
        peer_incasts_[own_] = std::numeric_limits<std::uint8_t>::max(); // only the others wish
        open(meeting, address);
        for (auto& stages : slots_) {
            for (Slot& slot : stages) {
                slot.data.resize(ranks_ * largest());
                slot.have.resize(ranks_ * pieces(largest()));
                slot.lacks.resize(slot.have.size());
                slot.last.resize(ranks_);
                slot.highest.resize(ranks_);
            }
        }
        for (std::size_t index = 0; index < kReceivedAtOnce; ++index) {
            received_[index].resize(kLargestDatagram);
            in_pieces_[index] = {received_[index].data(), received_[index].size()};
            in_[index].msg_hdr.msg_name = &sources_[index];
            in_[index].msg_hdr.msg_iov = &in_pieces_[index];
            in_[index].msg_hdr.msg_iovlen = 1;
        }
    }

    StageEnd exchange(PacketKind stage, std::uint64_t bucket,
                      const std::vector<std::size_t>& places) override;

    [[nodiscard]] const float* from(PacketKind stage, std::size_t rank) const override {
        return slot(stage, current_).data.data() + rank * largest();
    }
    [[nodiscard]] bool has(PacketKind stage, std::size_t rank, std::size_t piece) const override {
        return slot(stage, current_).have[rank * pieces(largest()) + piece] != 0;
    }
    [[nodiscard]] std::uint8_t lacks(std::size_t rank, std::size_t piece) const override {
        return slot(PacketKind::Gather, current_).lacks[rank * pieces(largest()) + piece];
    }
    void skip() override { slot(PacketKind::Gather, current_).skips = true; }
    [[nodiscard]] bool skips() const override { return slot(PacketKind::Gather, current_).skips; }
    // A t_B that was given stays as it is; so does one of bursts, which are to be cut, and end.
    void lengthen() override { bound_ = rises_ ? std::min(kLonger * bound_, longest_) : bound_; }
    [[nodiscard]] double bound() const override { return bound_; }
    [[nodiscard]] const Odd& odd() const override { return odd_; }
    [[nodiscard]] const Arrivals& arrivals() const override { return arrivals_; }

  private:
    void open(Meeting& meeting, in_addr address);
    [[nodiscard]] const Slot& slot(PacketKind stage, std::uint64_t bucket) const {
        return slots_[bucket % slots_.size()][static_cast<std::size_t>(stage)];
    }
    Slot& slot(PacketKind stage, std::uint64_t bucket) {
        return slots_[bucket % slots_.size()][static_cast<std::size_t>(stage)];
    }
    bool receive_some();
    void take(const unsigned char* packet, std::size_t bytes, const sockaddr_in& source);
    void take_piece(const PacketHeader& header, const unsigned char* payload, std::size_t bytes);
    std::size_t send_some(PacketKind stage, const std::vector<std::size_t>& places, double time);
    void wait(double until, bool to_send);
    void drop_errors();
    [[nodiscard]] double silence(PacketKind stage) const;
    // Of the times of the largest bucket. What a small one takes is not its bytes alone.
    [[nodiscard]] double scale_of(std::uint64_t bucket) const {
        return std::max(static_cast<double>(shard(bucket)) / static_cast<double>(largest()),
                        std::min(1.0, kLeastBound / bound_));
    }
    [[nodiscard]] double limit(PacketKind stage, double scale) const;
    void learn(PacketKind stage, const StageEnd& end, double needed);

    std::size_t own_;
    std::size_t ranks_;
    std::uint32_t run_;
    std::uint64_t inject_loss_;
    double bound_;
    bool calibrates_;
    bool rises_;
    double longest_;
    Descriptor socket_;
    std::vector<sockaddr_in> peers_;
    std::array<EarlyEnd, 2> early_;
    Incast incast_;
    double rate_; ///< bytes/s of a sender; 0: what the queue takes
    std::vector<std::uint16_t> peer_timeouts_;
    std::vector<std::uint8_t> peer_incasts_;
    std::vector<double> samples_;
    std::array<std::uint16_t, 2> timeouts_{}; ///< this rank's samples of t_C, as in the header

    std::array<std::array<Slot, 2>, 2> slots_; ///< this bucket and the next; scatter and gather
    std::uint64_t current_ = 0;
    PacketKind stage_ = PacketKind::Scatter;
    double sum_begin_ = 0.0;
    double begin_ = 0.0; ///< of this stage
    Arrivals arrivals_;
    Odd odd_;

    std::uint64_t to_send_ = 0; ///< of this stage
    std::uint64_t sent_ = 0;
    std::uint64_t counted_ = 0; ///< all packets, for --inject-loss
    std::uint64_t group_ = 1;   ///< receivers at once
    double next_send_ = 0.0;

    std::array<std::vector<unsigned char>, kReceivedAtOnce> received_;
    std::array<sockaddr_in, kReceivedAtOnce> sources_{};
    std::array<iovec, kReceivedAtOnce> in_pieces_{};
    std::array<mmsghdr, kReceivedAtOnce> in_{};
    std::array<std::array<unsigned char, kHeaderBytes>, kSentAtOnce> headers_{};
    std::array<std::array<iovec, 2>, kSentAtOnce> out_pieces_{};
    std::array<mmsghdr, kSentAtOnce> out_{};
};

} // namespace allreduce_lab
