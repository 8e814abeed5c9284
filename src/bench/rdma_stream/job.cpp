#include "rdma_stream/job.hpp"

#include "common/arguments.hpp"
#include "rdma_stream/backends.hpp"

#include <cmath>
#include <cstring>
#include <functional>

namespace rdma_stream {

namespace {

using bench::check;

enum Tag : int { kAddress = 2, kEnd = 3, kGaveUp = 4 };

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

ReceiverWord::ReceiverWord(int receiver) {
    // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): finish waits
    check(MPI_Irecv(&gave_up_, 1, MPI_INT, receiver, kGaveUp, MPI_COMM_WORLD, &request_),
          "MPI_Irecv");
}

bool ReceiverWord::gave_up() {
    int done = 0;
    check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0 && gave_up_ != 0;
}

void ReceiverWord::finish() {
    // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): the constructor began it
    check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait");
}

MpiEnds::MpiEnds(const Role& role, std::uint32_t streams) : words_(streams) {
    for (std::uint32_t stream = 0; stream < streams; ++stream) {
        Word& word = words_[stream];
        word.transmitter = role.transmitter_of(stream);
        // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): close waits
        check(MPI_Irecv(&word.numbers, 1, MPI_UINT64_T, word.transmitter, kEnd, MPI_COMM_WORLD,
                        &word.request),
              "MPI_Irecv");
    }
}

void MpiEnds::close(const std::vector<Received>& streams, double seconds) {
    for (std::size_t stream = 0; stream < words_.size(); ++stream) {
        Word& word = words_[stream];
        word.gave_up = streams[stream].failure.empty() ? 0 : 1;
        // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): waited for below
        check(MPI_Isend(&word.gave_up, 1, MPI_INT, word.transmitter, kGaveUp, MPI_COMM_WORLD,
                        &word.told),
              "MPI_Isend");
    }
    for (std::size_t stream = 0; stream < words_.size(); ++stream) {
        Word& word = words_[stream];
        if (!bench::wait_within(word.request, seconds) || !bench::wait_within(word.told, seconds)) {
            const std::string& failure = streams[stream].failure;
            bench::abort_job(
                (failure.empty() ? "came to its end" : failure) + ", but rank " +
                std::to_string(word.transmitter) + ", which transmits to it, said no end within " +
                std::to_string(std::lround(seconds)) + " s more: stopped, or on a node that hangs");
        }
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
    peers.reserve(role.streams());
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
