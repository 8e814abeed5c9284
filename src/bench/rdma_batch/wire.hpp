// What the two ends say to each other over TCP: typed messages, big-endian, of bounded length.
//
// Each begins with 16 bytes: magic number, version and type (16 bits each), length of what follows,
// and zero. The initiator says Hello; both tell their Endpoint and then Ready; for each row
// the initiator says Row and hears Prepared, and asks with Check for the Verdict; Done ends it.
// Refuse may come instead of any answer and tells why in one sentence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace rdma_batch {

/// The other end is not there, is silent, or speaks otherwise; the text is one sentence for the
/// user, and the program exits with code 2.
class PeerError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

enum class Type : std::uint16_t {
    Hello = 1,
    Endpoint,
    Ready,
    Row,
    Prepared,
    Check,
    Verdict,
    Done,
    Refuse,
};

using Bytes = std::vector<std::byte>;

constexpr std::size_t kHeaderBytes = 16;
constexpr std::uint16_t kWireVersion = 2;
constexpr std::uint32_t kMostQueuePairs = 1024;
/// Longest message: an endpoint with the most queue pairs.
constexpr std::uint32_t kMostPayload = 65536;

struct Header {
    Type type;
    std::uint32_t length;
};

Bytes encode_header(Type type, std::size_t length);

/// Throws PeerError if it is not the header of a message of this version.
Header decode_header(const std::array<std::byte, kHeaderBytes>& bytes);

/// What the initiator wants, so that the target can prepare it or refuse.
struct Hello {
    std::uint32_t rank = 0;
    std::uint32_t initiators = 1;
    std::uint32_t targets = 1;
    bool read = true;
    std::uint32_t queue_pairs = 1;
    std::uint64_t bytes = 0; ///< of the buffer
};

/// The memory of one end, and where its queue pairs can be reached: bytes that common/verbs
/// encodes.
struct Endpoint {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    std::uint64_t bytes = 0;
    std::vector<std::array<std::uint8_t, 32>> queue_pairs;
};

/// One row of the sweep.
struct RowOrder {
    std::uint64_t size = 0;
    std::uint64_t slots = 0;
    std::uint64_t seed = 0;
    bool inject_error = false; ///< the end that compares falsifies a byte first
};

Bytes encode(const Hello& hello);
Bytes encode(const Endpoint& endpoint);
Bytes encode(const RowOrder& row);
Bytes encode(const std::string& text);

/// Throw PeerError if the bytes are not exactly such a message with values that can be.
Hello decode_hello(const Bytes& bytes);
Endpoint decode_endpoint(const Bytes& bytes);
RowOrder decode_row(const Bytes& bytes);
std::string decode_text(const Bytes& bytes);

} // namespace rdma_batch
