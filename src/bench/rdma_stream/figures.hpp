// What both sides say of a stream, and what follows from it.
#pragma once

#include "rdma_stream/options.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace rdma_stream {

/// What one side says of one stream, as it travels to rank 0.
struct Side {
    double elapsed = 0.0;       ///< seconds
    double cpu = 0.0;           ///< seconds of the side's thread; a receiver's for all its streams
    std::uint64_t messages = 0; ///< that left, or that came
    std::uint64_t numbers = 0;  ///< transmitter: used up
    std::uint64_t end = 0;      ///< receiver: one more than the highest number that came
    std::uint64_t duplicates = 0;
    std::uint64_t out_of_order = 0;
    std::uint64_t foreign = 0;
    std::uint64_t wrong = 0;
    unsigned mtu = 0;                ///< transmitter: of the connection, in bytes; 0 without verbs
    std::array<char, 192> failure{}; ///< empty if it came to its end
};

/// One stream, both its sides.
struct Stream {
    int receiver;    ///< rank
    int transmitter; ///< rank
    int number;      ///< of this receiver's streams, from 0
    Side received;
    Side sent;
    double cpu_share; ///< seconds of the receiver's CPU time for this stream's messages

    /// Numbers that the transmitter used up and the receiver never got; those of them after the
    /// last one that came.
    [[nodiscard]] std::uint64_t missed() const {
        return sent.numbers > received.messages ? sent.numbers - received.messages : 0;
    }
    [[nodiscard]] std::uint64_t trailing() const {
        return sent.numbers > received.end ? sent.numbers - received.end : 0;
    }
};

/// Parts each receiver's CPU time among its streams, by the messages that came.
void share_cpu(const Options& options, std::vector<Stream>& streams);

/// Bits of payload a second; 0 where no time passed.
double bits_per_second(const Options& options, const Side& side);

/// Lost messages over all that the transmitter numbered.
double loss_rate(const Stream& stream);

/// Seconds of CPU time for each message; 0 without messages.
double cpu_per_message(double cpu, std::uint64_t messages);

} // namespace rdma_stream
