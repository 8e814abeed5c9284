// A packet of the bounded transport: a header in network order, whose last nine bytes are those of
// OptiReduce (arXiv 2310.06993), then floats in the sender's byte order.
//
//     bytes  field
//     0      0xA7
//     1      version 4 (high four bits); skips (next one); kind: 0 scatter, 1 gather
//     2      source
//     3-6    run, drawn by rank 0
//     7-8    bucket
//     9-12   offset
//     13-14  timeout
//     15     last (highest bit); lacks (next three); incast (low four)
#pragma once

#include <cstddef>
#include <cstdint>

namespace allreduce_lab {

enum class PacketKind : std::uint8_t {
    Scatter, ///< a rank's contribution to the receiver's shard
    Gather   ///< a summed shard
};

struct PacketHeader {
    std::uint32_t run = 0; ///< another word for each run
    PacketKind kind = PacketKind::Scatter;
    std::uint8_t source = 0;   ///< rank
    std::uint16_t bucket = 0;  ///< number of the sum, modulo 2^16
    std::uint32_t offset = 0;  ///< of the payload in the shard, in bytes
    std::uint16_t timeout = 0; ///< the sender's last sample of t_C, in 10 us
    bool last = false;         ///< among the last of its shard
    std::uint8_t lacks = 0;    ///< contributions that a summed piece lacks, 7 for more
    bool skips = false;        ///< a rank lost too much of this bucket: nobody uses its sum
    std::uint8_t incast = 1;   ///< senders at once that the source wants, 1 to 15
};

constexpr std::size_t kHeaderBytes = 16;

void write_packet(unsigned char* packet, const PacketHeader& header);

/// Reads the header of a packet of `bytes` bytes. False for what is no packet of this version.
bool read_packet(const unsigned char* packet, std::size_t bytes, PacketHeader& header);

} // namespace allreduce_lab
