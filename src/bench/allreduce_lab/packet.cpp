#include "allreduce_lab/packet.hpp"

namespace allreduce_lab {

namespace {

constexpr unsigned kMagic = 0xA7;
constexpr unsigned kVersion = 3;
constexpr unsigned kByte = 8;
constexpr unsigned kNibble = 4;
constexpr unsigned kLowNibble = 0xF;
constexpr unsigned kSkips = 0x8; // of the second byte's low nibble, whose rest is the kind
constexpr unsigned kLacks = 0x7; // of the high nibble of the last byte; the rest marks the last

// Network order.
template <class Whole>
unsigned char* put(unsigned char* next, Whole value) {
    for (std::size_t index = sizeof value; index-- > 0;) {
        *next++ = static_cast<unsigned char>(std::uint64_t{value} >> (kByte * index));
    }
    return next;
}

template <class Whole>
const unsigned char* take(const unsigned char* next, Whole& value) {
    std::uint64_t whole = 0;
    for (std::size_t index = 0; index < sizeof value; ++index) {
        whole = whole << kByte | *next++;
    }
    value = static_cast<Whole>(whole);
    return next;
}

} // namespace

void write_packet(unsigned char* packet, const PacketHeader& header) {
    *packet++ = kMagic;
    *packet++ = static_cast<unsigned char>(kVersion << kNibble | (header.skips ? kSkips : 0U) |
                                           static_cast<unsigned>(header.kind));
    *packet++ = header.source;
    packet = put(packet, header.run);
    packet = put(packet, header.stamp);
    packet = put(packet, header.bucket);
    packet = put(packet, header.offset);
    packet = put(packet, header.timeout);
    const unsigned high = (header.last ? kLacks + 1 : 0U) | header.lacks;
    *packet = static_cast<unsigned char>(high << kNibble | header.incast);
}

bool read_packet(const unsigned char* packet, std::size_t bytes, PacketHeader& header) {
    if (bytes < kHeaderBytes || packet[0] != kMagic || packet[1] >> kNibble != kVersion ||
        (packet[1] & (kSkips - 1)) > static_cast<unsigned>(PacketKind::Echo)) {
        return false;
    }
    header.kind = static_cast<PacketKind>(packet[1] & (kSkips - 1));
    header.skips = (packet[1] & kSkips) != 0;
    header.source = packet[2];
    const unsigned char* next = take(packet + 3, header.run);
    next = take(next, header.stamp);
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
