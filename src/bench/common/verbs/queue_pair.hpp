// Queue pairs, what their two sides tell each other, and the way from RESET to RTS.
#pragma once

#include "common/verbs/completion.hpp"
#include "common/verbs/port.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace bench::verbs {

/// Bytes that a UD receive buffer has before the payload.
constexpr std::size_t kUdHeader = 40;

/// Where a queue pair can be reached. Travels as kAddressBytes bytes in network order.
struct Address {
    std::uint32_t qp_number = 0; ///< 24 bits
    std::uint32_t psn = 0;       ///< 24 bits, the first packet's number
    std::uint16_t lid = 0;
    std::uint16_t mtu = 0; ///< bytes; the smaller one of both sides is used
    bool has_gid = false;
    std::uint8_t reads = 0; ///< READs and atomics that this side can answer at a time
    ibv_gid gid{};
};
constexpr std::size_t kAddressBytes = 32;
using AddressBytes = std::array<std::uint8_t, kAddressBytes>;
AddressBytes encode(const Address& address);
/// Throws std::runtime_error for bytes that no `encode` gives: another version of the program, or
/// no program of ours at all.
Address decode(const AddressBytes& bytes);

/// Room that a queue pair needs.
struct QpRoom {
    unsigned send = 1;    ///< requests in the send queue
    unsigned receive = 1; ///< requests in the receive queue
    unsigned inlined = 0; ///< bytes that a request may carry itself
};

/// How a connection behaves; the figures are perftest's.
struct Connection {
    std::uint8_t timeout = 14;    ///< of an acknowledgement: 4.096 us * 2^timeout
    std::uint8_t retries = 7;     ///< of a lost packet
    std::uint8_t rnr_retries = 7; ///< where the receiver has no buffer; 7 never gives up
    std::uint8_t rnr_timer = 12;  ///< 0.64 ms until the next such try
};

class QueuePair {
  public:
    /// In state INIT. `access` are IBV_ACCESS_ flags for the peer; none for UD.
    /// Throws UsageError if the device has no such room.
    QueuePair(const Port& port, const ProtectionDomain& domain, QpType type,
              const CompletionQueue& send, const CompletionQueue& receive, const QpRoom& room,
              int access);

    [[nodiscard]] ibv_qp* handle() const { return pair_.get(); }
    [[nodiscard]] QpType type() const { return type_; }
    [[nodiscard]] unsigned inlined() const { return inlined_; } ///< bytes, at least the room's

    /// What the peer must know.
    [[nodiscard]] Address address() const;

    /// From INIT to RTS; receive requests should be posted before. For UD the peer only matters for
    /// what is sent to it: see `handle_to`. Throws std::runtime_error if the device refuses, naming
    /// the state.
    void connect(const Address& peer, const Connection& connection = {});

    /// UD: where a send to the peer goes, with the peer's `qp_number` and kQkey.
    [[nodiscard]] AddressHandle handle_to(const Address& peer) const;

    /// READs and atomics that may be outstanding towards the peer, and answered for it; after
    /// `connect`.
    [[nodiscard]] unsigned reads_out() const { return reads_out_; }

    /// Bytes of payload of the connection's packets, which is the smaller one of both ports' MTUs;
    /// after `connect`.
    [[nodiscard]] unsigned mtu() const { return mtu_bytes(mtu_); }

    static constexpr std::uint32_t kQkey = 0x11111111;

  private:
    void to_init(int access);
    void to_receive(const Address& peer, const Connection& connection);
    void to_send(const Connection& connection);
    void modify(ibv_qp_attr& attributes, int mask, const char* state) const;
    [[nodiscard]] ibv_ah_attr route(const Address& peer) const;

    const Port& port_;
    const ProtectionDomain& domain_;
    QpType type_;
    unsigned inlined_ = 0;
    std::uint32_t psn_;
    unsigned reads_out_ = 0;
    ibv_mtu mtu_ = IBV_MTU_256;
    Owned<ibv_qp, ibv_destroy_qp> pair_;
};

} // namespace bench::verbs
