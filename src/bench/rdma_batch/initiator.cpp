#include "rdma_batch/initiator.hpp"

#include "rdma_batch/channel.hpp"
#include "rdma_batch/numa.hpp"
#include "rdma_batch/pattern.hpp"
#include "rdma_batch/worker_pool.hpp"

#include <stdexcept>

namespace rdma_batch {

namespace {

// Seconds that the target has to answer about a row, whose data it writes or compares.
constexpr double kRowAnswer = 120.0;
// Seconds without any completion after which a batch is given up; after an interrupt, fewer.
constexpr double kStalled = 30.0;
constexpr double kStalledInterrupted = 2.0;
// And after which the connection is looked at.
constexpr double kSuspicious = 0.5;

PostingMode posting_mode(const Options& options, const Resources& resources) {
    PostingMode mode;
    mode.operation = options.operation;
    mode.batch_transfer = options.batch_transfer;
    mode.session = options.session;
    mode.chain = options.chain;
    mode.queue_depth = resources.queue_depth();
    mode.inline_bytes = options.inline_bytes;
    return mode;
}

Directory directory_of(const Resources& resources, const Endpoint& target) {
    Directory directory;
    const auto begin = reinterpret_cast<std::uintptr_t>(resources.data());
    directory.memory[local_memory_name()] = {begin, resources.local_key()};
    directory.memory[remote_memory_name()] = {target.address, target.key};
    for (std::size_t worker = 0; worker < resources.queues(); ++worker) {
        directory.queue_pairs[queue_pairs_name(static_cast<unsigned>(worker))] =
            resources.pairs_of(worker);
    }
    return directory;
}

Used used_of(const Resources& resources) {
    const bench::verbs::Port& port = resources.port();
    Used used;
    used.device = port.name();
    used.gid_index = port.gid() ? port.gid()->gid_index : 0;
    used.mtu = resources.mtu();
    used.queue_depth = resources.queue_depth();
    used.reads_in_flight = resources.reads_in_flight();
    used.link = port.is_ethernet() ? "Ethernet" : "InfiniBand";
    return used;
}

class Measurement {
  public:
    Measurement(const Options& options, unsigned rank, SharedBarrier& barrier, Channel channel,
                Resources& resources, const Endpoint& target)
        : options_(options), rank_(rank), barrier_(barrier), channel_(std::move(channel)),
          resources_(resources), directory_(directory_of(resources, target)),
          workers_(posting_mode(options, resources), resources, directory_,
                   [this](double seconds) { return why_give_up(seconds); }) {}

    RawRow measure(Shape shape, std::uint64_t seed) {
        RawRow row;
        row.shape = shape;
        const Layout layout = lay_out(shape, options_.most_memory);
        row.slots = layout.slots;
        order(layout, seed);
        workers_.prepare(shape, layout, options_.queue_pairs);
        for (std::uint64_t count = 0; count < options_.warmup; ++count) {
            (void)workers_.run();
        }
        row.samples.reserve(options_.iterations);
        const double begin = now();
        while (barrier_.agree(rank_, goes_on(row.samples.size(), begin))) {
            row.samples.push_back(workers_.run());
        }
        if (options_.validate && !row.samples.empty()) {
            row.wrong = compare(layout, seed);
            row.valid = row.wrong.empty();
        }
        return row;
    }

    void end() { channel_.send(Type::Done); }

  private:
    [[nodiscard]] bool goes_on(std::size_t done, double begin) const {
        if (done >= options_.iterations || barrier_.interrupted()) {
            return false;
        }
        return done == 0 || !options_.time_budget || now() - begin < *options_.time_budget;
    }

    [[nodiscard]] std::string why_give_up(double seconds) const {
        if (barrier_.interrupted() && seconds > kStalledInterrupted) {
            return "interrupted while nothing completed";
        }
        if (seconds > kSuspicious && channel_.is_over()) {
            return "expected completions, found that the target closed its connection: it died";
        }
        if (seconds > kStalled) {
            return "expected completions, found none for " +
                   std::to_string(static_cast<int>(kStalled)) +
                   " s: the target died or the link is down";
        }
        return {};
    }

    // Both ends write their buffers, so that only the transfers can make them alike.
    void order(const Layout& layout, std::uint64_t seed) {
        RowOrder wanted;
        wanted.size = layout.size;
        wanted.slots = layout.slots;
        wanted.seed = seed;
        wanted.inject_error = options_.inject_error;
        channel_.send(Type::Row, encode(wanted));
        if (options_.operation == Operation::Read) {
            clear(resources_.data(), layout, seed);
        } else {
            fill(resources_.data(), layout, seed);
        }
        (void)channel_.receive(Type::Prepared, kRowAnswer);
    }

    // What is wrong with the data, at the end to which they went.
    std::string compare(const Layout& layout, std::uint64_t seed) {
        if (options_.operation == Operation::Write) {
            channel_.send(Type::Check);
            return decode_text(channel_.receive(Type::Verdict, kRowAnswer));
        }
        std::byte* const data = resources_.data();
        if (options_.inject_error) {
            data[layout.bytes() / 2] ^= std::byte{1};
        }
        return difference(data, layout, seed).value_or("");
    }

    const Options& options_;
    unsigned rank_;
    SharedBarrier& barrier_;
    Channel channel_;
    Resources& resources_;
    Directory directory_;
    WorkerPool workers_;
};

Hello hello_of(const Options& options, unsigned rank, std::uint64_t bytes) {
    Hello hello;
    hello.rank = rank;
    hello.initiators = options.initiators;
    hello.targets = options.targets;
    hello.read = options.operation == Operation::Read;
    hello.queue_pairs = options.queue_pairs;
    hello.bytes = bytes;
    return hello;
}

} // namespace

void initiate(const Options& options, unsigned rank, SharedBarrier& barrier,
              ResultWriter& messages) {
    const std::vector<Shape> shapes = options.shapes();
    const std::uint64_t bytes = buffer_bytes(shapes, options.most_memory);
    bind_to(options.numa, [&] { return device_name(options, rank); });
    Resources resources(options, rank, bytes, options.queue_pairs, options.workers);
    Channel channel =
        connect_to(options.host, options.tcp_port, options.own_host, options.patience);
    channel.send(Type::Hello, encode(hello_of(options, rank, bytes)));
    const Endpoint target = decode_endpoint(channel.receive(Type::Endpoint, kAnswer));
    resources.connect(target, options.reads_in_flight);
    channel.send(Type::Endpoint, encode(resources.endpoint()));
    (void)channel.receive(Type::Ready, kAnswer);
    messages.tell(used_of(resources));

    Measurement initiator(options, rank, barrier, std::move(channel), resources, target);
    std::uint64_t seed = options.seed;
    for (const Shape& shape : shapes) {
        if (!barrier.agree(rank, !barrier.interrupted())) {
            break;
        }
        const RawRow row = initiator.measure(shape, seed++);
        if (!row.samples.empty()) {
            messages.tell(row);
        }
        if (!row.wrong.empty()) {
            initiator.end(); // the target did its part
            throw std::runtime_error("wrong data at " + std::to_string(shape.size) + " bytes x " +
                                     std::to_string(shape.batch) + ": " + row.wrong);
        }
    }
    initiator.end();
    messages.done();
}

} // namespace rdma_batch
