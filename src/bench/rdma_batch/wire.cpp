#include "rdma_batch/wire.hpp"

#include "common/network_order.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace rdma_batch {

namespace {

constexpr std::uint32_t kMagic = 0x52424154; // "RBAT"
constexpr std::uint32_t kMostRanks = 64;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40U;
constexpr std::size_t kLongestText = 1000;

class Writer {
  public:
    template <class Number>
    void number(Number value) {
        bytes_.resize(bytes_.size() + sizeof value);
        (void)bench::put(bytes_.data() + bytes_.size() - sizeof value, value);
    }
    void flag(bool truth) { number<std::uint8_t>(truth ? 1 : 0); }

    Bytes take() { return std::move(bytes_); }

  private:
    Bytes bytes_;
};

// Reads a message of exactly known content; `what` names it in errors.
class Reader {
  public:
    Reader(const Bytes& bytes, const char* what) : bytes_(bytes), what_(what) {}

    template <class Number>
    Number number(const char* field, std::uint64_t minimum, std::uint64_t maximum) {
        if (bytes_.size() - position_ < sizeof(Number)) {
            fail(std::string("is cut before ") + field);
        }
        Number value = 0;
        (void)bench::take(bytes_.data() + std::exchange(position_, position_ + sizeof value),
                          value);
        if (value < minimum || value > maximum) {
            fail(std::string("has ") + field + " " + std::to_string(value) + ", expected " +
                 std::to_string(minimum) + " to " + std::to_string(maximum));
        }
        return value;
    }
    bool flag(const char* field) { return number<std::uint8_t>(field, 0, 1) != 0; }

    void finish() const {
        if (position_ != bytes_.size()) {
            fail("has " + std::to_string(bytes_.size() - position_) + " bytes too many");
        }
    }

  private:
    [[noreturn]] void fail(const std::string& how) const {
        throw PeerError(std::string("the other end's message ") + what_ + " " + how +
                        ": it is no rdma_batch of this version, or something on the way damaged "
                        "it");
    }

    const Bytes& bytes_;
    const char* what_;
    std::size_t position_ = 0;
};

} // namespace

Bytes encode_header(Type type, std::size_t length) {
    Writer writer;
    writer.number(kMagic);
    writer.number(kWireVersion);
    writer.number(static_cast<std::uint16_t>(type));
    writer.number(static_cast<std::uint32_t>(length));
    writer.number(std::uint32_t{0});
    return writer.take();
}

Header decode_header(const std::array<std::byte, kHeaderBytes>& bytes) {
    const Bytes copy(bytes.begin(), bytes.end());
    Reader reader(copy, "header");
    (void)reader.number<std::uint32_t>("magic number", kMagic, kMagic);
    const auto version = reader.number<std::uint16_t>("version", 0, 0xFFFF);
    if (version != kWireVersion) {
        throw PeerError("expected the other end to speak version " + std::to_string(kWireVersion) +
                        ", found " + std::to_string(version) +
                        ": install the same rdma_batch at both ends");
    }
    const auto type = reader.number<std::uint16_t>("type", static_cast<std::uint64_t>(Type::Hello),
                                                   static_cast<std::uint64_t>(Type::Refuse));
    const auto length = reader.number<std::uint32_t>("length", 0, kMostPayload);
    (void)reader.number<std::uint32_t>("filler", 0, 0);
    return {static_cast<Type>(type), length};
}

Bytes encode(const Hello& hello) {
    Writer writer;
    writer.number(hello.rank);
    writer.number(hello.initiators);
    writer.number(hello.targets);
    writer.flag(hello.read);
    writer.number(hello.queue_pairs);
    writer.number(hello.bytes);
    return writer.take();
}

Hello decode_hello(const Bytes& bytes) {
    Reader reader(bytes, "hello");
    Hello hello;
    hello.rank = reader.number<std::uint32_t>("rank", 0, kMostRanks - 1);
    hello.initiators = reader.number<std::uint32_t>("initiators", hello.rank + 1, kMostRanks);
    hello.targets = reader.number<std::uint32_t>("targets", 1, kMostRanks);
    hello.read = reader.flag("operation");
    hello.queue_pairs = reader.number<std::uint32_t>("queue pairs", 1, kMostQueuePairs);
    hello.bytes = reader.number<std::uint64_t>("buffer bytes", 1, kMostBytes);
    reader.finish();
    return hello;
}

Bytes encode(const Endpoint& endpoint) {
    Writer writer;
    writer.number(endpoint.address);
    writer.number(endpoint.key);
    writer.number(endpoint.bytes);
    writer.number(static_cast<std::uint32_t>(endpoint.queue_pairs.size()));
    for (const auto& pair : endpoint.queue_pairs) {
        for (const std::uint8_t each : pair) {
            writer.number(each);
        }
    }
    return writer.take();
}

Endpoint decode_endpoint(const Bytes& bytes) {
    constexpr std::uint64_t kAny = ~std::uint64_t{0};
    Reader reader(bytes, "endpoint");
    Endpoint endpoint;
    endpoint.address = reader.number<std::uint64_t>("address", 0, kAny);
    endpoint.key = reader.number<std::uint32_t>("key", 0, kAny);
    endpoint.bytes = reader.number<std::uint64_t>("buffer bytes", 1, kMostBytes);
    const auto count = reader.number<std::uint32_t>("queue pairs", 1, kMostQueuePairs);
    for (std::uint32_t index = 0; index < count; ++index) {
        std::array<std::uint8_t, 32> pair{};
        for (std::uint8_t& each : pair) {
            each = reader.number<std::uint8_t>("queue pair", 0, 0xFF);
        }
        endpoint.queue_pairs.push_back(pair);
    }
    reader.finish();
    return endpoint;
}

Bytes encode(const RowOrder& row) {
    Writer writer;
    writer.number(row.size);
    writer.number(row.slots);
    writer.number(row.seed);
    writer.flag(row.inject_error);
    return writer.take();
}

RowOrder decode_row(const Bytes& bytes) {
    Reader reader(bytes, "row");
    RowOrder row;
    row.size = reader.number<std::uint64_t>("size", 1, kMostBytes);
    row.slots = reader.number<std::uint64_t>("slots", 1, kMostBytes / (row.size + 1) + 1);
    row.seed = reader.number<std::uint64_t>("seed", 0, ~std::uint64_t{0});
    row.inject_error = reader.flag("error to inject");
    reader.finish();
    return row;
}

Bytes encode(const std::string& text) {
    Bytes bytes;
    for (const char letter : text.substr(0, kLongestText)) {
        bytes.push_back(static_cast<std::byte>(letter));
    }
    return bytes;
}

std::string decode_text(const Bytes& bytes) {
    std::string text;
    for (const std::byte each : bytes) {
        const auto letter = std::to_integer<unsigned char>(each);
        text += std::isprint(letter) != 0 ? static_cast<char>(letter) : '?';
    }
    return text.substr(0, kLongestText);
}

} // namespace rdma_batch
