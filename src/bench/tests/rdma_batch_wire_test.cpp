// The two ends' messages: whatever comes, it is one sentence and never a hang or a crash.
#include "rdma_batch/channel.hpp"
#include "rdma_batch/pipe.hpp"
#include "rdma_batch/wire.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

using namespace rdma_batch;

namespace {

const auto kPort = static_cast<std::uint16_t>(20'000 + getpid() % 10'000);

std::pair<Channel, Descriptor> connected() {
    std::array<int, 2> ends{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    return {Channel(Descriptor(ends[0])), Descriptor(ends[1])};
}

void put(const Descriptor& end, const Bytes& bytes) {
    REQUIRE(write(end.number(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
}

Endpoint some_endpoint() {
    Endpoint endpoint;
    endpoint.address = 0x1234567890;
    endpoint.key = 77;
    endpoint.bytes = 4096;
    endpoint.queue_pairs.resize(3);
    endpoint.queue_pairs[2][31] = 9;
    return endpoint;
}

RowOrder some_row() {
    RowOrder row;
    row.size = 1024;
    row.slots = 16;
    row.seed = 5;
    row.inject_error = true;
    return row;
}

} // namespace

TEST_CASE("messages come back as they were") {
    Hello hello;
    hello.rank = 3;
    hello.initiators = 8;
    hello.targets = 2;
    hello.read = false;
    hello.queue_pairs = 16;
    hello.bytes = 1U << 20U;
    const Hello found = decode_hello(encode(hello));
    CHECK(found.rank == 3);
    CHECK(found.initiators == 8);
    CHECK(found.targets == 2);
    CHECK_FALSE(found.read);
    CHECK(found.queue_pairs == 16);
    CHECK(found.bytes == 1U << 20U);

    const Endpoint endpoint = decode_endpoint(encode(some_endpoint()));
    CHECK(endpoint.address == 0x1234567890);
    CHECK(endpoint.key == 77);
    CHECK(endpoint.queue_pairs == some_endpoint().queue_pairs);

    const RowOrder row = decode_row(encode(some_row()));
    CHECK(row.size == 1024);
    CHECK(row.slots == 16);
    CHECK(row.inject_error);
    CHECK(decode_text(encode(std::string("wrong\n"))) == "wrong?");
}

TEST_CASE("a message that is cut or too long is refused") {
    const auto refused = [](const Bytes& whole, auto decode) {
        for (std::size_t length = 0; length < whole.size(); ++length) {
            CHECK_THROWS_AS(
                (void)decode(Bytes(whole.begin(), whole.begin() + static_cast<long>(length))),
                PeerError);
        }
        Bytes longer = whole;
        longer.push_back(std::byte{0});
        CHECK_THROWS_AS((void)decode(longer), PeerError);
    };
    refused(encode(Hello{0, 1, 1, true, 1, 1}), decode_hello);
    refused(encode(some_endpoint()), decode_endpoint);
    refused(encode(some_row()), decode_row);
}

TEST_CASE("values that cannot be are refused") {
    CHECK_THROWS_AS((void)decode_hello(encode(Hello{64, 65, 1, true, 1, 1})), PeerError);
    CHECK_THROWS_AS((void)decode_hello(encode(Hello{1, 1, 1, true, 1, 1})), PeerError);
    CHECK_THROWS_AS((void)decode_hello(encode(Hello{0, 1, 1, true, 0, 1})), PeerError);
    CHECK_THROWS_AS((void)decode_hello(encode(Hello{0, 1, 1, true, 1, 0})), PeerError);
    RowOrder row = some_row();
    row.slots = ~std::uint64_t{0};
    CHECK_THROWS_AS((void)decode_row(encode(row)), PeerError);
    row = some_row();
    row.size = 0;
    CHECK_THROWS_AS((void)decode_row(encode(row)), PeerError);
}

TEST_CASE("another program or another version is told as such") {
    auto [channel, other] = connected();
    put(other, encode(std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n")));
    CHECK_THROWS_WITH_AS((void)channel.receive(Type::Hello, 1.0), doctest::Contains("magic number"),
                         PeerError);

    auto [second, newer] = connected();
    Bytes header = encode_header(Type::Hello, 0);
    header[5] = std::byte{9};
    put(newer, header);
    CHECK_THROWS_WITH_AS((void)second.receive(Type::Hello, 1.0),
                         "expected the other end to speak version 2, found 9: install the same "
                         "rdma_batch at both ends",
                         PeerError);
}

TEST_CASE("a message of a length beyond all sense is not even read") {
    auto [channel, other] = connected();
    put(other, encode_header(Type::Hello, 0xFFFFFFFF));
    CHECK_THROWS_WITH_AS((void)channel.receive(Type::Hello, 1.0), doctest::Contains("length"),
                         PeerError);
}

TEST_CASE("a silent end, half a message and a closed connection end the wait") {
    auto [channel, other] = connected();
    CHECK_THROWS_WITH_AS((void)channel.receive(Type::Hello, 0.05),
                         doctest::Contains("within 0.05 s, found none"), PeerError);
    put(other, Bytes(5, std::byte{0x52}));
    CHECK_THROWS_WITH_AS((void)channel.receive(Type::Hello, 0.05),
                         doctest::Contains("found half of one"), PeerError);

    auto [second, gone] = connected();
    put(gone, encode_header(Type::Hello, 100));
    gone.close();
    CHECK_THROWS_WITH_AS((void)second.receive(Type::Hello, 1.0),
                         doctest::Contains("in the middle of a message"), PeerError);
    auto [third, ended] = connected();
    ended.close();
    CHECK_FALSE(third.receive_any(1.0));
}

TEST_CASE("a refusal is told in the other end's words, another message by its number") {
    auto [channel, other] = connected();
    Channel peer(std::move(other));
    peer.send(Type::Refuse, encode(std::string("no such device")));
    CHECK_THROWS_WITH_AS((void)channel.receive(Type::Endpoint, 1.0),
                         "the other end refuses: no such device", PeerError);
    peer.send(Type::Ready);
    CHECK_THROWS_WITH_AS((void)channel.receive(Type::Endpoint, 1.0),
                         doctest::Contains("expected message 2 of the other end, found 3"),
                         PeerError);
}

TEST_CASE("random bytes are refused, never believed") {
    std::mt19937 random(20250912); // NOLINT: the same bytes in each run
    for (int count = 0; count < 2000; ++count) {
        auto [channel, other] = connected();
        Bytes bytes(random() % 200);
        std::generate(bytes.begin(), bytes.end(),
                      [&random] { return static_cast<std::byte>(random()); });
        put(other, bytes);
        other.close();
        try {
            const bool closed = !channel.receive_any(1.0);
            CHECK(closed);
        } catch (const PeerError& error) {
            CHECK_FALSE(std::string(error.what()).empty());
        }
    }
}

TEST_CASE("damaged messages are refused or are other valid messages") {
    std::mt19937 random(7); // NOLINT: the same bytes in each run
    const Bytes whole = encode(some_endpoint());
    for (int count = 0; count < 5000; ++count) {
        Bytes damaged = whole;
        damaged[random() % damaged.size()] = static_cast<std::byte>(random());
        try {
            const Endpoint endpoint = decode_endpoint(damaged);
            CHECK(encode(endpoint) == damaged);
        } catch (const PeerError& error) {
            CHECK_FALSE(std::string(error.what()).empty());
        }
    }
}

TEST_CASE("a target that is not there is told with its host and port") {
    CHECK_THROWS_WITH_AS((void)connect_to("127.0.0.1", 1, "", 0.05),
                         doctest::Contains("expected a target on 127.0.0.1, port 1, within 0.05 s"),
                         PeerError);
}

TEST_CASE("an address of another machine is no end of a connection") {
    CHECK_THROWS_WITH_AS((void)connect_to("127.0.0.1", 1, "192.0.2.1", 0.05),
                         doctest::Contains("192.0.2.1 is no address of this machine"), PeerError);
    CHECK_THROWS_WITH_AS((void)Listener("192.0.2.1", kPort), doctest::Contains("of 192.0.2.1"),
                         PeerError);
}

TEST_CASE("strangers and silent connections neither end a target nor hold it up") {
    Listener listener("127.0.0.1", kPort);
    CHECK_THROWS_WITH_AS((void)connect_to("::1", kPort, "", 0.05), doctest::Contains("found none"),
                         PeerError);
    const Channel silent = connect_to("127.0.0.1", kPort, "", 1.0);
    Channel stranger = connect_to("127.0.0.1", kPort, "", 1.0);
    put(Descriptor(dup(stranger.number())), encode(std::string("GET / HTTP/1.1\r\nHost: x\r\n")));
    Channel initiator = connect_to("127.0.0.1", kPort, "", 1.0);
    initiator.send(Type::Hello, encode(Hello{0, 1, 1, true, 4, 1}));
    Hello found;
    Channel accepted = listener.next(5.0, [&found](Channel& newcomer) {
        found = decode_hello(newcomer.receive(Type::Hello, 1.0));
    });
    CHECK(found.queue_pairs == 4);
    CHECK_THROWS_WITH_AS((void)stranger.receive(Type::Endpoint, 1.0),
                         doctest::Contains("the other end refuses: "), PeerError);
    CHECK_FALSE(initiator.is_over());
    accepted = Channel(Descriptor());
    CHECK(initiator.is_over());
    CHECK_THROWS_WITH_AS((void)listener.next(0.3, [](Channel&) {}),
                         doctest::Contains("expected an initiator within 0.3 s"), PeerError);
}

TEST_CASE("what a process told arrives, and a process that died is told") {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    ResultReader reader{Descriptor(ends[0])};
    {
        ResultWriter writer{Descriptor(ends[1])};
        Used used;
        used.device = "mlx5_0:1";
        used.mtu = 4096;
        writer.tell(used);
        RawRow row;
        row.shape = {8, 2};
        row.slots = 2;
        row.valid = true;
        row.samples.assign(3, Sample{1.0 / 3e6, 16});
        writer.tell(row);
        row.valid = std::nullopt;
        row.wrong = "transfer 1: \"a\\b\", not\n\"c\"";
        row.samples.assign(1000, Sample{2.0 / 3e6, std::uint64_t{1} << 40U});
        writer.tell(row);
    }
    while (reader.open()) {
        reader.read();
    }
    CHECK(reader.used.device == "mlx5_0:1");
    CHECK(reader.used.mtu == 4096);
    REQUIRE(reader.rows.size() == 2);
    REQUIRE(reader.rows[0].samples.size() == 3);
    CHECK(reader.rows[0].samples[2].seconds == 1.0 / 3e6);
    CHECK(reader.rows[0].wrong.empty());
    REQUIRE(reader.rows[1].samples.size() == 1000);
    CHECK(reader.rows[1].samples[999].seconds == 2.0 / 3e6);
    CHECK(reader.rows[1].samples[999].bytes == std::uint64_t{1} << 40U);
    CHECK(reader.rows[1].wrong == "transfer 1: \"a\\b\", not\n\"c\"");
    CHECK_FALSE(reader.rows[1].valid);
    CHECK(reader.rows[0].valid == true);
    CHECK_FALSE(reader.finished);
    REQUIRE(reader.failure);
    CHECK(reader.failure->sentence == "its process died without a word");
}
