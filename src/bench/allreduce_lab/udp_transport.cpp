// The bounded transport over datagrams. One thread sends, receives and waits, so that nothing is
// locked; the method is in docs/reference/programs/allreduce_lab.md, "The bounded transport".
#include "allreduce_lab/udp.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <poll.h>
#include <sys/socket.h>

namespace allreduce_lab {

void Udp::open(Meeting& meeting, in_addr address) {
    for (const auto& [option, bytes] : {std::pair{SO_RCVBUF, kReceiveBuffer},
                                        {SO_RCVBUFFORCE, kReceiveBuffer},
                                        {SO_SNDBUF, kSendBuffer}}) {
        // FORCE is for root only; the others are cut to what the kernel allows.
        (void)setsockopt(socket_.number(), SOL_SOCKET, option, &bytes, sizeof bytes);
    }
    // Without it, what a full queue of this host drops counts as sent.
    const int yes = 1;
    (void)setsockopt(socket_.number(), IPPROTO_IP, IP_RECVERR, &yes, sizeof yes);
    peers_ = meeting.exchange_ports(socket_, address);
}

StageEnd Udp::exchange(PacketKind stage, std::uint64_t bucket,
                       const std::vector<std::size_t>& places) {
    const double begin = bench::steady_seconds();
    if (bucket != current_) {
        // The bucket before this one is over; what comes for the next one has its place.
        current_ = bucket;
        slot(PacketKind::Scatter, bucket + 1).clear();
        slot(PacketKind::Gather, bucket + 1).clear();
    }
    Slot& own = slot(stage, bucket);
    EarlyEnd& early = early_[static_cast<std::size_t>(stage)];
    stage_ = stage;
    begin_ = begin;
    const double scale = scale_of(bucket);
    sum_begin_ = stage == PacketKind::Scatter ? begin : sum_begin_;
    const double bound = limit(stage, scale);
    StageEnd end;
    end.expected = (ranks_ - 1) * pieces(shard(bucket));
    to_send_ = end.expected;
    sent_ = 0;
    group_ = *std::min_element(peer_incasts_.begin(), peer_incasts_.end());
    next_send_ = begin;
    while (true) {
        const bool received = receive_some();
        const double time = bench::steady_seconds();
        const std::size_t sent = sent_ < to_send_ ? send_some(stage, places, time) : 0;
        if (sent_ == to_send_ && own.total == end.expected) {
            end.end = End::Full;
            break;
        }
        if (time >= begin + bound || bench::interrupted_by() != 0) {
            end.end = End::Bound;
            break;
        }
        const bool all_said_last = own.ended == ranks_ - 1 && sent_ == to_send_;
        const bool may_give_up = all_said_last || (calibrates_ && sent_ == to_send_);
        const double patience = all_said_last
                                    ? std::max(early.patience(end.expected) * scale, kLeastPatience)
                                    : silence(stage);
        const double give_up = std::max(own.last_time, begin) + patience;
        if (may_give_up && !received && time >= give_up) {
            end.end = End::Early;
            break;
        }
        if (!received && sent == 0) {
            const double until = may_give_up ? std::min(give_up, begin + bound) : begin + bound;
            const bool paced = sent_ < to_send_ && next_send_ > time;
            wait(paced ? std::min(next_send_, until) : until, sent_ < to_send_ && !paced);
        }
    }
    own.closed = true;
    end.seconds = bench::steady_seconds() - begin;
    end.lost = end.expected - own.total;
    odd_.unsent += to_send_ - sent_;
    learn(stage, end, end.end == End::Early ? std::max(own.last_time - begin, 0.0) : end.seconds);
    return end;
}

// Scatter is cut first: what it lacks all ranks lack alike, and what a gather lacks one rank alone.
double Udp::limit(PacketKind stage, double scale) const {
    const double both = 2 * bound_ * scale;
    return stage == PacketKind::Scatter
               ? both - kForGather * scale * std::min(early_[1].typical(), bound_)
               : std::max(both - (begin_ - sum_begin_), kLeastPatience);
}

double Udp::silence(PacketKind stage) const {
    const double typical = early_[static_cast<std::size_t>(stage)].typical();
    const double scatter = std::max(std::clamp(kSilence * typical, kLeastSilence, kMostSilence),
                                    std::min(typical, bound_ / 2));
    return stage == PacketKind::Scatter ? scatter : kSilenceOfGather * scatter;
}

// Of peers that have ended; who is gone is found out over the connections of the meeting.
void Udp::drop_errors() {
    msghdr message{};
    while (recvmsg(socket_.number(), &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
    }
}

bool Udp::receive_some() {
    for (mmsghdr& message : in_) {
        message.msg_hdr.msg_namelen = sizeof(sockaddr_in);
    }
    const int count =
        recvmmsg(socket_.number(), in_.data(), kReceivedAtOnce, MSG_DONTWAIT, nullptr);
    for (int index = 0; index < count; ++index) {
        const auto each = static_cast<std::size_t>(index);
        take(received_[each].data(), in_[each].msg_len, sources_[each]);
    }
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
        drop_errors();
    }
    return count > 0;
}

void Udp::take(const unsigned char* packet, std::size_t bytes, const sockaddr_in& source) {
    PacketHeader header;
    if (!read_packet(packet, bytes, header)) {
        ++odd_.malformed;
        return;
    }
    if (header.run != run_ || header.source >= ranks_ || header.source == own_ ||
        peers_[header.source].sin_addr.s_addr != source.sin_addr.s_addr ||
        peers_[header.source].sin_port != source.sin_port) {
        ++odd_.foreign;
        return;
    }
    take_piece(header, packet + kHeaderBytes, bytes - kHeaderBytes);
}

void Udp::take_piece(const PacketHeader& header, const unsigned char* payload, std::size_t bytes) {
    const auto ahead =
        static_cast<std::int16_t>(header.bucket - static_cast<std::uint16_t>(current_));
    if (ahead < 0 || ahead > 1) {
        ++(ahead < 0 ? odd_.late : odd_.ahead);
        return;
    }
    const std::uint64_t bucket = current_ + static_cast<std::uint64_t>(ahead);
    Slot& place = slot(header.kind, bucket);
    const std::size_t piece_bytes = piece() * sizeof(float);
    const std::size_t shard_bytes = shard(bucket) * sizeof(float);
    if (header.offset % piece_bytes != 0 || header.offset >= shard_bytes ||
        bytes != std::min(piece_bytes, shard_bytes - header.offset)) {
        ++odd_.malformed;
        return;
    }
    const std::size_t source = header.source;
    peer_timeouts_[source] = header.timeout;
    peer_incasts_[source] = header.incast;
    if (place.closed) {
        ++odd_.late;
        return;
    }
    std::uint8_t& have = place.have[source * pieces(largest()) + header.offset / piece_bytes];
    if (have != 0) {
        ++odd_.duplicate;
        return;
    }
    std::memcpy(place.data.data() + source * largest() + header.offset / sizeof(float), payload,
                bytes);
    have = 1;
    place.skips |= header.skips;
    place.lacks[source * pieces(largest()) + header.offset / piece_bytes] = header.lacks;
    place.came(source, header.last, bench::steady_seconds());
    arrivals_.note(ahead == 0 && header.kind == stage_ ? place.last_time - begin_ : 0.0);
    odd_.reordered += header.offset < place.highest[source] ? 1 : 0;
    place.highest[source] = std::max(place.highest[source], header.offset);
}

// As many as the rate and the socket take now; pieces go round the receivers of a group.
std::size_t Udp::send_some(PacketKind stage, const std::vector<std::size_t>& places, double time) {
    if (next_send_ > time) {
        return 0;
    }
    const std::size_t count = pieces(shard(current_));
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(kSentAtOnce, to_send_ - sent_));
    std::size_t wire_bytes = 0;
    std::size_t filled = 0;
    std::size_t taken = 0;
    std::array<std::size_t, kSentAtOnce> after{}; // packets taken once that message is out
    for (; taken < most; ++taken) {
        const std::uint64_t index = sent_ + taken;
        const Sending next = sending(index, ranks_ - 1, count, group_);
        const std::size_t which = next.piece;
        const std::size_t target = (own_ + 1 + next.peer) % ranks_;
        if (inject_loss_ > 0 && (counted_ + taken + 1) % inject_loss_ == 0) {
            continue;
        }
        PacketHeader header;
        header.run = run_;
        header.kind = stage;
        header.source = static_cast<std::uint8_t>(own_);
        header.bucket = static_cast<std::uint16_t>(current_);
        header.offset = static_cast<std::uint32_t>(which * piece() * sizeof(float));
        header.timeout = timeouts_[static_cast<std::size_t>(stage)];
        header.lacks = stage == PacketKind::Gather ? own_lacks(which) : std::uint8_t{0};
        header.skips = stage == PacketKind::Gather && skips();
        header.last = which + std::max(kLastPieces, count / 100) >= count;
        header.incast = static_cast<std::uint8_t>(incast_.wanted());
        write_packet(headers_[filled].data(), header);
        const std::size_t floats = std::min(piece(), shard(current_) - which * piece());
        out_pieces_[filled] = {
            {{headers_[filled].data(), kHeaderBytes},
             {work() + places[target] + which * piece(), floats * sizeof(float)}}};
        msghdr& message = out_[filled].msg_hdr;
        message.msg_name = &peers_[target];
        message.msg_namelen = sizeof(sockaddr_in);
        message.msg_iov = out_pieces_[filled].data();
        message.msg_iovlen = out_pieces_[filled].size();
        wire_bytes += kHeaderBytes + floats * sizeof(float);
        after[filled++] = taken + 1;
    }
    const int out = filled == 0 ? 0
                                : sendmmsg(socket_.number(), out_.data(),
                                           static_cast<unsigned>(filled), MSG_DONTWAIT);
    if (out <= 0 && filled > 0) {
        if (errno == ENOBUFS) {
            next_send_ = time + kQueueFull;
        } else if (errno != EAGAIN) {
            drop_errors();
        }
        return 0;
    }
    const std::size_t done =
        static_cast<std::size_t>(out) == filled ? taken : after[static_cast<std::size_t>(out) - 1];
    sent_ += done;
    counted_ += done;
    if (rate_ > 0.0) {
        next_send_ =
            std::max(next_send_, time - kCatchUp) + static_cast<double>(wire_bytes) / rate_;
    }
    return done;
}

void Udp::wait(double until, bool to_send) {
    const double left = std::clamp(until - bench::steady_seconds(), 0.0, kLongestWait);
    const timespec limit{static_cast<std::time_t>(left),
                         static_cast<long>((left - std::floor(left)) * 1e9)};
    pollfd entry{socket_.number(), static_cast<short>(to_send ? POLLIN | POLLOUT : POLLIN), 0};
    (void)ppoll(&entry, 1, &limit, nullptr);
}

void Udp::learn(PacketKind stage, const StageEnd& end, double needed) {
    const auto index = static_cast<std::size_t>(stage);
    const double share =
        end.expected == 0 ? 0.0 : static_cast<double>(end.lost) / static_cast<double>(end.expected);
    const double sample = EarlyEnd::sample(end.end, needed / scale_of(current_), 1 - share, bound_);
    timeouts_[index] = static_cast<std::uint16_t>(
        std::min<double>(sample / kTimeoutUnit, std::numeric_limits<std::uint16_t>::max()));
    std::size_t count = 0;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
        if (rank == own_ || peer_timeouts_[rank] > 0) {
            samples_[count++] = rank == own_ ? sample : peer_timeouts_[rank] * kTimeoutUnit;
        }
    }
    const auto middle = samples_.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(samples_.begin(), middle,
                     samples_.begin() + static_cast<std::ptrdiff_t>(count));
    early_[index].note(*middle, share);
    incast_.note(end.lost == 0 && end.end != End::Bound);
}

std::unique_ptr<UdpTransport> udp_transport(Meeting& meeting, const Options& options,
                                            in_addr address, std::vector<std::size_t> shards,
                                            double bound, bool calibrates) {
    return std::make_unique<Udp>(meeting, options, address, std::move(shards), bound, calibrates);
}

} // namespace allreduce_lab
