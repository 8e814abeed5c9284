// One stream after another detail is taken away: a side that sends, a side that receives, and the
// two timed loops. How a message travels is said by the classes derived from Sender and Receiver.
#pragma once

#include "rdma_stream/options.hpp"
#include "rdma_stream/sequence.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rdma_stream {

using Clock = std::chrono::steady_clock;

/// What one side must know of the other before it can connect.
using Blob = std::array<std::uint8_t, 64>;

/// The transmitter's end of a stream. Slots are taken in turn, options.slots() of them.
class Sender {
  public:
    Sender() = default;
    virtual ~Sender() = default;
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    [[nodiscard]] virtual Blob address() const = 0;
    virtual void connect(const Blob& peer) = 0;
    /// Bytes of payload of a packet; 0 where no such thing is known. After `connect`.
    [[nodiscard]] virtual unsigned mtu() const { return 0; }

    /// Where the content of the `turn`-th posted message goes; its slot must be free.
    virtual unsigned char* content(std::uint64_t turn) = 0;
    /// Posts `count` messages, the first at `turn`, with these numbers.
    virtual void post(std::uint64_t turn, const std::uint32_t* numbers, std::uint32_t count) = 0;
    /// How many more messages, in their turn, have left and freed their slots. Does not wait.
    virtual std::uint32_t reap() = 0;
    /// After a reap that found nothing: lets time pass until there may be something, at most so
    /// long. May return at once.
    virtual void wait(std::chrono::microseconds longest) = 0;
};

/// A message that came.
struct Arrival {
    std::uint32_t stream; ///< of those of this receiver
    std::uint32_t slot;
    std::uint64_t number;         ///< beyond any stream's numbers for what is no message of ours
    const unsigned char* content; ///< until the slot is released
};

/// The receiver's end of all its streams.
class Receiver {
  public:
    Receiver() = default;
    virtual ~Receiver() = default;
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;

    [[nodiscard]] virtual Blob address(std::uint32_t stream) const = 0;
    virtual void connect(std::uint32_t stream, const Blob& peer) = 0;

    /// Takes up to `room` messages. Does not wait.
    virtual std::uint32_t take(Arrival* arrivals, std::uint32_t room) = 0;
    /// Their slots may receive again.
    virtual void release(const Arrival* arrivals, std::uint32_t count) = 0;
    virtual void wait(std::chrono::microseconds longest) = 0;
};

/// What transmitters say besides their messages.
class Ends {
  public:
    Ends() = default;
    virtual ~Ends() = default;
    Ends(const Ends&) = delete;
    Ends& operator=(const Ends&) = delete;

    /// Numbers that the stream's transmitter has used up, once it has ended. Does not wait.
    virtual std::optional<std::uint64_t> sent(std::uint32_t stream) = 0;
};

/// How a side's part ended. Times are in seconds.
struct Sent {
    std::uint64_t numbers = 0;   ///< used up: posted, or left out by --inject-loss
    std::uint64_t completed = 0; ///< messages that left
    double elapsed = 0.0;        ///< from the start to the last completion
    double cpu = 0.0;            ///< of this thread meanwhile
    std::string failure;         ///< why it ended early; empty if it did not
};
struct Received {
    Sequence sequence;
    std::uint64_t wrong = 0;           ///< messages with wrong content
    std::optional<std::uint64_t> sent; ///< as the transmitter said
    double elapsed = 0.0;              ///< from the start to the last message
    std::string failure;
};

/// The timed loops. Neither throws for what happens on the way: it is told in `failure`.
/// See docs/reference/programs/rdma_stream.md, "Method". While nothing can be sent, `given_up`
/// tells whether the receiver has given the stream up.
Sent transmit(
    Sender& sender, const Options& options, std::size_t content_bytes,
    const std::function<bool()>& given_up = [] { return false; });

/// `cpu` becomes the CPU time of the whole loop, as the streams of a receiver share it.
std::vector<Received> receive(Receiver& receiver, Ends& ends, const Options& options,
                              std::uint32_t streams, std::size_t content_bytes, double& cpu);

} // namespace rdma_stream
