#include "rdma_batch/target.hpp"

#include "common/output.hpp"
#include "rdma_batch/channel.hpp"
#include "rdma_batch/children.hpp"
#include "rdma_batch/numa.hpp"
#include "rdma_batch/pattern.hpp"
#include "rdma_batch/resources.hpp"

#include <algorithm>
#include <cstdio>
#include <new>
#include <set>
#include <stdexcept>
#include <string>

namespace rdma_batch {

namespace {

// Seconds that an initiator may measure without a word before it is given up.
constexpr double kLongestRow = 600.0;

void require_fit(const RowOrder& row, const Resources& resources) {
    if ((row.size + 1) * row.slots > resources.bytes()) {
        throw PeerError("expected a row that fits into " + std::to_string(resources.bytes()) +
                        " bytes, found " + std::to_string(row.slots) + " transfers of " +
                        std::to_string(row.size));
    }
}

// Serves the rows of one initiator until it says that it is done.
void serve_rows(Channel& channel, const Resources& resources, bool read) {
    RowOrder row;
    Layout layout;
    while (true) {
        const auto message = channel.receive_any(kLongestRow);
        if (!message) {
            throw PeerError("the initiator closed the connection before it was done");
        }
        if (message->first == Type::Done) {
            return;
        }
        if (message->first == Type::Row) {
            row = decode_row(message->second);
            require_fit(row, resources);
            layout = {row.size, row.slots};
            if (read) {
                fill(resources.data(), layout, row.seed);
            } else {
                clear(resources.data(), layout, row.seed);
            }
            channel.send(Type::Prepared);
        } else if (message->first == Type::Check && layout.slots > 0) {
            if (row.inject_error) {
                resources.data()[layout.bytes() / 2] ^= std::byte{1};
            }
            channel.send(Type::Verdict,
                         encode(difference(resources.data(), layout, row.seed).value_or("")));
        } else {
            throw PeerError("expected a row, a check or the end, found message " +
                            std::to_string(static_cast<unsigned>(message->first)));
        }
    }
}

void serve_initiator(const Options& options, Channel& channel, const Hello& hello) {
    const unsigned device = hello.rank % options.targets;
    bind_to(options.numa, [&] { return device_name(options, device); });
    // The other end knows nothing of this one's rows, but no row needs more than this.
    if (hello.bytes > options.most_memory) {
        throw bench::UsageError("the initiator asks for a buffer of " +
                                std::to_string(hello.bytes) +
                                " bytes: raise --max-mem here, or "
                                "lower it there");
    }
    Resources resources(options, device, hello.bytes, hello.queue_pairs, 1);
    channel.send(Type::Endpoint, encode(resources.endpoint()));
    resources.connect(decode_endpoint(channel.receive(Type::Endpoint, kAnswer)), std::nullopt);
    channel.send(Type::Ready);
    serve_rows(channel, resources, hello.read);
}

// In a process of its own: the exit code.
int child(const Options& options, Channel& channel, const Hello& hello) {
    const auto told = [&](const std::string& sentence, int code) {
        (void)std::fprintf(stderr, "rdma_batch: target rank %u: %s\n", hello.rank,
                           sentence.c_str());
        channel.try_refuse(sentence);
        return code;
    };
    try {
        serve_initiator(options, channel, hello);
        return bench::kSuccess;
    } catch (const bench::UsageError& error) {
        return told(error.what(), bench::kUsage);
    } catch (const PeerError& error) {
        return told(error.what(), bench::kUsage);
    } catch (const std::bad_alloc&) {
        return told("out of memory: lower --max-mem", bench::kUsage);
    } catch (const std::exception& error) {
        return told(error.what(), bench::kFailure);
    }
}

// The first words of a connection. Those of an initiator that this target is not for end it.
Hello hear(const Options& options, Channel& channel, std::set<unsigned>& ranks) {
    constexpr double kWords = 1.0; // they have begun to come
    const Hello hello = decode_hello(channel.receive(Type::Hello, kWords));
    if (hello.initiators != options.initiators || hello.targets != options.targets ||
        !ranks.insert(hello.rank).second) {
        const std::string sentence =
            "expected each of " + std::to_string(options.initiators) + " initiators for " +
            std::to_string(options.targets) + " target devices once, found number " +
            std::to_string(hello.rank) + " of " + std::to_string(hello.initiators) + " for " +
            std::to_string(hello.targets) + ": start both ends with the same options";
        channel.try_refuse(sentence);
        throw bench::UsageError(sentence);
    }
    return hello;
}

} // namespace

int serve(const Options& options) {
    // A device that is not there is told before anybody comes; each process opens its own again.
    for (unsigned device = 0; device < std::min(options.targets, options.initiators); ++device) {
        const bench::verbs::Port port(port_options(options, device));
    }
    Listener listener(options.own_host, options.tcp_port);
    Children children;
    std::set<unsigned> ranks;
    for (unsigned count = 0; count < options.initiators; ++count) {
        Hello hello;
        Channel channel = listener.next(
            options.patience, [&](Channel& newcomer) { hello = hear(options, newcomer, ranks); });
        children.start([&] {
            listener.forget();
            return child(options, channel, hello);
        });
    }
    return children.wait();
}

} // namespace rdma_batch
