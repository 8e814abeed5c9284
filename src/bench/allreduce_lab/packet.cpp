#include "allreduce_lab/packet.hpp"

#include "common/network_order.hpp"

namespace allreduce_lab {

using bench::put;
using bench::take;

namespace {

constexpr unsigned kMagic = 0xA7;
constexpr unsigned kVersion = 4;
constexpr unsigned kNibble = 4;
constexpr unsigned kLowNibble = 0xF;
constexpr unsigned kSkips = 0x8; // of the second byte's low nibble, whose rest is the kind
constexpr unsigned kLacks = 0x7; // of the high nibble of the last byte; the rest marks the last

} // namespace

void write_packet(unsigned char* packet, const PacketHeader& header) {
    *packet++ = kMagic;
    *packet++ = static_cast<unsigned char>(kVersion << kNibble | (header.skips ? kSkips : 0U) |
                                           static_cast<unsigned>(header.kind));
    *packet++ = header.source;
    packet = put(packet, header.run);
    packet = put(packet, header.bucket);
    packet = put(packet, header.offset);
    packet = put(packet, header.timeout);
    const unsigned high = (header.last ? kLacks + 1 : 0U) | header.lacks;
    *packet = static_cast<unsigned char>(high << kNibble | header.incast);
}

bool read_packet(const unsigned char* packet, std::size_t bytes, PacketHeader& header) {
    if (bytes < kHeaderBytes || packet[0] != kMagic || packet[1] >> kNibble != kVersion ||
        (packet[1] & (kSkips - 1)) > static_cast<unsigned>(PacketKind::Gather)) {
        return false;
    }
    header.kind = static_cast<PacketKind>(packet[1] & (kSkips - 1));
    header.skips = (packet[1] & kSkips) != 0;
    header.source = packet[2];
    const unsigned char* next = take(packet + 3, header.run);
    next = take(next, header.bucket);
    next = take(next, header.offset);
    next = take(next, header.timeout);
    const unsigned high = *next >> kNibble;
    header.last = high > kLacks;
    header.lacks = static_cast<std::uint8_t>(high & kLacks);
    header.incast = *next & kLowNibble;
    return header.incast > 0 &&
           ((header.lacks == 0 && !header.skips) || header.kind != PacketKind::Scatter);
}

} // namespace allreduce_lab
