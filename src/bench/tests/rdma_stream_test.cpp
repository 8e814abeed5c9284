#include "rdma_stream/backends.hpp"
#include "rdma_stream/figures.hpp"
#include "rdma_stream/options.hpp"
#include "rdma_stream/payload.hpp"
#include "rdma_stream/sequence.hpp"
#include "tests/fuzzed_arguments.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using namespace rdma_stream;

namespace {

Sequence counted(std::uint64_t total, std::initializer_list<std::uint64_t> numbers) {
    Sequence sequence(total);
    for (const std::uint64_t number : numbers) {
        sequence.arrive(number);
    }
    return sequence;
}

Options parsed(std::vector<std::string> words) {
    words.insert(words.begin(), "rdma_stream");
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    optind = 0;
    return parse_options(static_cast<int>(words.size()), arguments.data());
}

Options short_options(std::uint64_t messages) {
    Options options;
    options.messages = messages;
    options.message_size = 16;
    options.blocks = 2;
    options.messages_per_block = 4;
    options.timeout = 0.05;
    return options;
}

// A fabric in memory: what is posted has arrived, unless it is told to be lost.
struct Wire {
    std::vector<std::uint64_t> numbers;
    std::vector<std::array<unsigned char, 16>> contents;
    std::vector<std::uint64_t> lost;

    [[nodiscard]] bool loses(std::uint64_t number) const {
        return std::find(lost.begin(), lost.end(), number) != lost.end();
    }
};

class WireSender : public Sender {
  public:
    explicit WireSender(Wire& wire) : wire_(wire) {}
    [[nodiscard]] Blob address() const override { return {}; }
    void connect(const Blob& /*peer*/) override {}
    unsigned char* content(std::uint64_t turn) override { return slots_[turn % 8].data(); }
    void post(std::uint64_t turn, const std::uint32_t* numbers, std::uint32_t count) override {
        if (broken) {
            throw std::runtime_error("the port is down");
        }
        for (std::uint32_t index = 0; index < count; ++index) {
            if (!wire_.loses(numbers[index])) {
                wire_.numbers.push_back(numbers[index]);
                wire_.contents.push_back(slots_[(turn + index) % 8]);
            }
        }
        left_ += count;
    }
    std::uint32_t reap() override { return stuck ? 0 : std::exchange(left_, 0); }
    void wait(std::chrono::microseconds /*longest*/) override {}

    bool broken = false;
    bool stuck = false;

  private:
    Wire& wire_;
    std::array<std::array<unsigned char, 16>, 8> slots_{};
    std::uint32_t left_ = 0;
};

class WireReceiver : public Receiver {
  public:
    explicit WireReceiver(Wire& wire) : wire_(wire) {}
    [[nodiscard]] Blob address(std::uint32_t /*stream*/) const override { return {}; }
    void connect(std::uint32_t /*stream*/, const Blob& /*peer*/) override {}
    std::uint32_t take(Arrival* arrivals, std::uint32_t room) override {
        std::uint32_t count = 0;
        for (; count < room && next_ < wire_.numbers.size(); ++next_) {
            arrivals[count++] = {0, 0, wire_.numbers[next_], wire_.contents[next_].data()};
        }
        return count;
    }
    void release(const Arrival* /*arrivals*/, std::uint32_t count) override { released += count; }
    void wait(std::chrono::microseconds /*longest*/) override {}

    std::uint32_t released = 0;

  private:
    Wire& wire_;
    std::size_t next_ = 0;
};

class KnownEnd : public Ends {
  public:
    explicit KnownEnd(std::optional<std::uint64_t> numbers) : numbers_(numbers) {}
    std::optional<std::uint64_t> sent(std::uint32_t /*stream*/) override { return numbers_; }

  private:
    std::optional<std::uint64_t> numbers_;
};

Received received_from(Wire& wire, const Options& options, std::optional<std::uint64_t> end) {
    WireReceiver receiver(wire);
    KnownEnd ends(end);
    double cpu = 0.0;
    Received result = receive(receiver, ends, options, 1, 16, cpu).front();
    CHECK(receiver.released == wire.numbers.size());
    return result;
}

} // namespace

TEST_CASE("every number counts once, whatever came before it") {
    const Sequence sequence = counted(10, {0, 1, 4, 4, 7, 2, 12, 8});
    CHECK(sequence.received() == 6);
    CHECK(sequence.duplicates() == 1);
    CHECK(sequence.out_of_order() == 1);
    CHECK(sequence.foreign() == 1);
    CHECK(sequence.end() == 9);
    CHECK_FALSE(sequence.complete());
    CHECK(counted(3, {2, 1, 0}).complete());
    CHECK(counted(3, {2, 1, 0}).out_of_order() == 2);
}

TEST_CASE("a stream without loss is complete before its transmitter says so") {
    const Options options = short_options(1000);
    Wire wire;
    WireSender sender(wire);
    const Sent sent = transmit(sender, options, 16);
    CHECK(sent.numbers == 1000);
    CHECK(sent.completed == 1000);
    CHECK(sent.failure.empty());
    const Received received = received_from(wire, options, std::nullopt);
    CHECK(received.sequence.complete());
    CHECK(received.failure.empty());
}

TEST_CASE("several gaps in one poll and the loss of the last message are all counted") {
    const Options options = short_options(100);
    Wire wire;
    wire.lost = {0, 5, 6, 7, 20, 21, 63, 98, 99};
    WireSender sender(wire);
    CHECK(transmit(sender, options, 16).completed == 100);
    const Received received = received_from(wire, options, 100);
    CHECK(received.failure.empty());
    CHECK(received.sequence.received() == 91);
    CHECK(received.sequence.end() == 98);
    CHECK(received.sequence.duplicates() == 0);
}

TEST_CASE("what is left out on purpose is a loss") {
    Options options = short_options(100);
    options.inject_loss = 10;
    Wire wire;
    WireSender sender(wire);
    const Sent sent = transmit(sender, options, 16);
    CHECK(sent.numbers == 100);
    CHECK(sent.completed == 90);
    CHECK(received_from(wire, options, sent.numbers).sequence.received() == 90);
}

TEST_CASE("neither side waits for ever") {
    const Options options = short_options(100);
    Wire wire;
    SUBCASE("a receiver whose transmitter says nothing") {
        wire.numbers = {0, 1, 2};
        wire.contents.resize(3);
        const Received received = received_from(wire, options, std::nullopt);
        CHECK(received.failure.find("without a message") != std::string::npos);
        CHECK(received.sequence.received() == 3);
    }
    SUBCASE("a transmitter whose messages do not leave") {
        WireSender sender(wire);
        sender.stuck = true;
        const Sent sent = transmit(sender, options, 16);
        CHECK(sent.failure.find("without a completion") != std::string::npos);
        CHECK(sent.numbers == options.slots());
    }
    SUBCASE("a transmitter whose port breaks") {
        WireSender sender(wire);
        sender.broken = true;
        CHECK(transmit(sender, options, 16).failure == "the port is down");
    }
}

TEST_CASE("content is that of its message, or wrong") {
    for (const Test test : {Test::Ones, Test::Increment}) {
        Options options = short_options(300);
        options.test = test;
        Wire wire;
        WireSender sender(wire);
        CHECK(transmit(sender, options, 16).completed == 300);
        CHECK(received_from(wire, options, 300).wrong == 0);
        wire.contents[7][15] ^= 1;
        CHECK(received_from(wire, options, 300).wrong == 1);
    }
}

TEST_CASE("datagrams that are none of the stream's are told apart") {
    Options options = short_options(10);
    options.method = Method::Udp;
    options.device = "lo";
    const auto sender = udp_sender(options);
    const auto receiver = udp_receiver(options, 1);
    receiver->connect(0, sender->address());
    sender->connect(receiver->address(0));
    const std::uint32_t number = 3;
    sender->post(0, &number, 1);
    CHECK(sender->reap() == 1);

    std::array<Arrival, 4> arrivals{};
    const auto take = [&] {
        receiver->wait(std::chrono::seconds(5));
        return receiver->take(arrivals.data(), arrivals.size());
    };
    REQUIRE(take() == 1);
    CHECK(arrivals[0].number == 3);

    Options other = options;
    SUBCASE("shorter") {
        other.message_size = 8;
    }
    SUBCASE("longer") {
        other.message_size = 17;
    }
    SUBCASE("of another stream") {
        // What udp_receiver told ends with the stream's word, after an address of 16 bytes.
        Blob forged = receiver->address(0);
        forged[sizeof(sockaddr_in)] ^= 1;
        sender->connect(forged);
        sender->post(1, &number, 1);
        CHECK(sender->reap() == 1);
        REQUIRE(take() == 1);
        CHECK(arrivals[0].number == kForeign);
        CHECK(arrivals[0].content == nullptr);
        return;
    }
    const auto stranger = udp_sender(other);
    receiver->connect(0, stranger->address());
    stranger->connect(receiver->address(0));
    stranger->post(0, &number, 1);
    CHECK(stranger->reap() == 1);
    REQUIRE(take() == 1);
    CHECK(arrivals[0].number == kForeign);
}

TEST_CASE("options are the seed's, underscores too") {
    const Options options =
        parsed({"--nrx", "1", "--nlink", "2", "--method", "rdma", "--msg-size", "65_536",
                "--num-blks", "10", "--num-cmsgs", "100", "--nmsg", "1_000_000"});
    CHECK(options.receivers == 1);
    CHECK(options.transmitters == 2);
    CHECK(options.message_size == 65536);
    CHECK(options.messages == 1'000'000);
    CHECK(options.slots() == 1000);
    CHECK(options.qp_type == QpType::Rc);
    CHECK_NOTHROW(check_world_size(options, 3));
    CHECK_THROWS_AS(check_world_size(options, 1), bench::UsageError);
}

TEST_CASE("options that do not fit are refused") {
    const std::vector<std::vector<std::string>> lines = {
        {"--nrx", "2"},
        {"--nmsg", "0"},
        {"--msg-size", "0"},
        {"--method", "tcp"},
        {"--qp-type", "dc"},
        {"--send-delay", "-1"},
        {"--timeout", "0"},
        {"--inject-loss", "1"},
        {"--sl", "16"},
        {"--method", "mpi", "--qp-type", "rc"},
        {"--method", "udp", "--gid-index", "1"},
        {"--method", "mpi", "--dev", "eth0"},
        {"--method", "udp", "--msg-size", "65508"},
        {"--method", "mpi", "--msg-size", "7"},
        {"--num-blks", "100000", "--num-cmsgs", "100000"},
        {"word"},
        {"--nrx"},
    };
    for (const std::vector<std::string>& line : lines) {
        CAPTURE(line.front());
        CHECK_THROWS_AS((void)parsed(line), bench::UsageError);
    }
}

TEST_CASE("random command lines of rdma_stream") {
    const std::vector<std::string> words = {
        "--nrx",   "--nlink",       "--method",    "rdma",         "mpi",
        "udp",     "--qp-type",     "uc",          "ud",           "--nmsg",
        "100_000", "--num-blks",    "--num-cmsgs", "--msg-size",   "4096",
        "--test",  "ones",          "--timeout",   "--send-delay", "--poll-cq-mode",
        "polling", "--dev",         "--port",      "--gid-index",  "--mtu",
        "--sl",    "--inject-loss", "--json",      "-h",           "--version"};
    bench_tests::fuzz_arguments(words, [](int argc, char** argv) {
        const Options options = parse_options(argc, argv);
        if (options.action != bench::Action::Run) {
            return; // what stands after --help is not looked at
        }
        CHECK(options.receivers <= options.transmitters);
        CHECK(options.slots() > 0);
        CHECK(options.message_size >= content_offset(options.method));
    });
}

TEST_CASE("figures of a stream: the seed's first line") {
    Options options;
    Stream stream{};
    stream.sent.numbers = stream.sent.messages = stream.received.messages = 100'000;
    stream.sent.elapsed = 0.5373530387878418;
    CHECK(bits_per_second(options, stream.sent) == doctest::Approx(97.56863033336262e9));
    CHECK(loss_rate(stream) == 0.0);
    stream.received.messages = 99'000;
    stream.received.end = 99'990;
    CHECK(stream.missed() == 1000);
    CHECK(stream.trailing() == 10);
    CHECK(loss_rate(stream) == doctest::Approx(0.01));
    CHECK(bits_per_second(options, stream.received) == 0.0);
}

TEST_CASE("a receiver's CPU time is parted by messages") {
    Options options;
    options.transmitters = 2;
    std::vector<Stream> streams(2);
    streams[0].received = {1.0, 8.0, 300, 0, 300, 0, 0, 0, 0, {}};
    streams[1].received = {1.0, 8.0, 100, 0, 100, 0, 0, 0, 0, {}};
    share_cpu(options, streams);
    CHECK(streams[0].cpu_share == doctest::Approx(6.0));
    CHECK(streams[1].cpu_share == doctest::Approx(2.0));
    CHECK(cpu_per_message(6.0, 300) == doctest::Approx(0.02));
    CHECK(cpu_per_message(6.0, 0) == 0.0);
}
