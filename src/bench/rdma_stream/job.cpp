#include "rdma_stream/job.hpp"

#include "common/arguments.hpp"
#include "rdma_stream/ways.hpp"

#include <cstring>
#include <functional>

namespace rdma_stream {

namespace {

using bench::check;

enum Tag : int { kAddress = 2, kEnd = 3 };

// Calls `make`; a refusal of any rank becomes one of all.
template <class Result>
Result made_by_all(const bench::World& world, const std::function<Result()>& make) {
    Result result;
    std::string refusal;
    try {
        result = make();
    } catch (const bench::UsageError& error) {
        refusal = error.what();
    }
    bench::agree(world, refusal);
    return result;
}

Blob exchange(const Blob& own, int peer) {
    Blob found{};
    check(MPI_Sendrecv(own.data(), static_cast<int>(own.size()), MPI_BYTE, peer, kAddress,
                       found.data(), static_cast<int>(found.size()), MPI_BYTE, peer, kAddress,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    return found;
}

// What cannot connect on one side would leave the other waiting: both agree.
void connect_all(const bench::World& world, const std::function<void()>& connect) {
    (void)made_by_all<bool>(world, [&connect] {
        connect();
        return true;
    });
}

std::unique_ptr<Sender> make_sender(const Options& options, const Role& role) {
    switch (options.method) {
    case Method::Mpi:
        return mpi_sender(options, role.receiver());
    case Method::Udp:
        return udp_sender(options);
    case Method::Rdma:
        break;
    }
    return verbs_sender(options);
}

std::unique_ptr<Receiver> make_receiver(const Options& options, const Role& role) {
    switch (options.method) {
    case Method::Mpi:
        return mpi_receiver(options, role.streams(), role.transmitter_of(0), options.receivers);
    case Method::Udp:
        return udp_receiver(options, role.streams());
    case Method::Rdma:
        break;
    }
    return verbs_receiver(options, role.streams());
}

} // namespace

void tell_end(int receiver, const Sent& sent) {
    check(MPI_Send(&sent.numbers, 1, MPI_UINT64_T, receiver, kEnd, MPI_COMM_WORLD), "MPI_Send");
}

MpiEnds::MpiEnds(const Role& role, std::uint32_t streams) : words_(streams) {
    for (std::uint32_t stream = 0; stream < streams; ++stream) {
        Word& word = words_[stream];
        // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): the destructor waits
        check(MPI_Irecv(&word.numbers, 1, MPI_UINT64_T, role.transmitter_of(stream), kEnd,
                        MPI_COMM_WORLD, &word.request),
              "MPI_Irecv");
    }
}

MpiEnds::~MpiEnds() {
    // Every transmitter says its end, at the latest when it gave up.
    for (Word& word : words_) {
        // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): the constructor began it
        check(MPI_Wait(&word.request, MPI_STATUS_IGNORE), "MPI_Wait");
    }
}

std::optional<std::uint64_t> MpiEnds::sent(std::uint32_t stream) {
    Word& word = words_[stream];
    int done = 0;
    check(MPI_Test(&word.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0 ? std::optional(word.numbers) : std::nullopt;
}

std::unique_ptr<Sender> connected_sender(const bench::World& world, const Options& options,
                                         const Role& role) {
    auto sender =
        made_by_all<std::unique_ptr<Sender>>(world, [&] { return make_sender(options, role); });
    const Blob peer = exchange(sender->address(), role.receiver());
    connect_all(world, [&] { sender->connect(peer); });
    return sender;
}

std::unique_ptr<Receiver> connected_receiver(const bench::World& world, const Options& options,
                                             const Role& role) {
    auto receiver =
        made_by_all<std::unique_ptr<Receiver>>(world, [&] { return make_receiver(options, role); });
    std::vector<Blob> peers;
    for (std::uint32_t stream = 0; stream < role.streams(); ++stream) {
        peers.push_back(exchange(receiver->address(stream), role.transmitter_of(stream)));
    }
    connect_all(world, [&] {
        for (std::uint32_t stream = 0; stream < role.streams(); ++stream) {
            receiver->connect(stream, peers[stream]);
        }
    });
    return receiver;
}

std::vector<Stream> gather_streams(const bench::World& world, const Options& options,
                                   const std::vector<Side>& sides) {
    const auto bytes_of = [](std::size_t count) { return static_cast<int>(count * sizeof(Side)); };
    std::vector<int> counts;
    std::vector<int> places;
    int total = 0;
    for (int rank = 0; rank < world.size; ++rank) {
        const Role role(options, rank);
        counts.push_back(bytes_of(role.receives() ? role.streams() : 1));
        places.push_back(total);
        total += counts.back();
    }
    std::vector<Side> all(static_cast<std::size_t>(total) / sizeof(Side));
    check(MPI_Gatherv(sides.data(), bytes_of(sides.size()), MPI_BYTE, all.data(), counts.data(),
                      places.data(), MPI_BYTE, 0, MPI_COMM_WORLD),
          "MPI_Gatherv");
    const auto side = [&](int rank, int number) -> const Side& {
        const auto first = static_cast<std::size_t>(places[static_cast<std::size_t>(rank)]);
        return all[first / sizeof(Side) + static_cast<std::size_t>(number)];
    };
    std::vector<Stream> streams;
    for (int index = 0; index < options.transmitters; ++index) {
        const int receiver = index % options.receivers;
        const int number = index / options.receivers;
        const int transmitter = options.receivers + index;
        streams.push_back(
            {receiver, transmitter, number, side(receiver, number), side(transmitter, 0), 0.0});
    }
    share_cpu(options, streams);
    return streams;
}

} // namespace rdma_stream
