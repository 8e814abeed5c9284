#include "allreduce_lab/meeting.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace allreduce_lab {

using bench::UsageError;

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kKey = "meeting";
// Of `--timeout`: a rank may first have waited that long for another, in the middle of a sum.
constexpr double kPatienceOfRank0 = 2.0;
constexpr double kPatienceOfOthers = 4.0;

struct Place {
    sockaddr_in address;
    std::uint32_t run_word;
};

struct Hello {
    std::uint32_t run_word;
    std::int32_t rank;
};

enum class Ending : std::uint8_t { Done, Closed, Late };

Clock::time_point after(double seconds) {
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Whether one of them is, in time.
bool ready(pollfd* entries, std::size_t count, Clock::time_point deadline) {
    constexpr std::int64_t kHour = 3'600'000; // then it looks again
    while (true) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        const int found =
            poll(entries, count, static_cast<int>(std::clamp<std::int64_t>(left, 0, kHour)));
        if (found > 0 || (found == 0 && left <= 0)) {
            return found > 0;
        }
    }
}

bool ready(int descriptor, short events, Clock::time_point deadline) {
    pollfd entry{descriptor, events, 0};
    return ready(&entry, 1, deadline);
}

Ending read_all(int descriptor, void* data, std::size_t bytes, Clock::time_point deadline) {
    auto* next = static_cast<char*>(data);
    while (bytes > 0) {
        if (!ready(descriptor, POLLIN, deadline)) {
            return Ending::Late;
        }
        const ssize_t got = recv(descriptor, next, bytes, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            return Ending::Closed;
        }
        next += std::max<ssize_t>(got, 0);
        bytes -= static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    }
    return Ending::Done;
}

Ending write_all(int descriptor, const void* data, std::size_t bytes, Clock::time_point deadline) {
    const auto* next = static_cast<const char*>(data);
    while (bytes > 0) {
        if (!ready(descriptor, POLLOUT, deadline)) {
            return Ending::Late;
        }
        const ssize_t put = send(descriptor, next, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put < 0 && errno != EAGAIN && errno != EINTR) {
            return Ending::Closed;
        }
        next += std::max<ssize_t>(put, 0);
        bytes -= static_cast<std::size_t>(std::max<ssize_t>(put, 0));
    }
    return Ending::Done;
}

Descriptor tcp_socket() {
    Descriptor descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (descriptor.number() < 0) {
        throw std::runtime_error("no socket for TCP");
    }
    return descriptor;
}

void send_at_once(const Descriptor& descriptor) {
    const int yes = 1;
    (void)setsockopt(descriptor.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the API of sockets
sockaddr* plain(sockaddr_in& address) {
    return reinterpret_cast<sockaddr*>(&address);
}

std::string words_of(const sockaddr_in& address) {
    std::array<char, INET_ADDRSTRLEN> text{};
    (void)inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(ntohs(address.sin_port));
}

// The address with the free port that the kernel chose.
sockaddr_in bound(const Descriptor& socket, in_addr address) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr = address;
    socklen_t length = sizeof own;
    if (bind(socket.number(), plain(own), length) != 0 ||
        getsockname(socket.number(), plain(own), &length) != 0) {
        throw std::runtime_error("no free port at " + words_of(own));
    }
    return own;
}

} // namespace

bool connect_until(const Descriptor& socket, const sockaddr_in& address, double timeout) {
    const auto deadline = after(timeout);
    sockaddr_in place = address;
    const int flags = fcntl(socket.number(), F_GETFL);
    (void)fcntl(socket.number(), F_SETFL, flags | O_NONBLOCK);
    int error = connect(socket.number(), plain(place), sizeof place) == 0 ? 0 : errno;
    if (error == EINPROGRESS && ready(socket.number(), POLLOUT, deadline)) {
        socklen_t length = sizeof error;
        (void)getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &length);
    }
    (void)fcntl(socket.number(), F_SETFL, flags);
    return error == 0;
}

Meeting::Meeting(Rendezvous& rendezvous, int rank, int size, in_addr address, double timeout)
    : rank_(rank), size_(size), timeout_(timeout) {
    // A key for each rank: two processes of one rank, or keys of an earlier run, are found here.
    rendezvous.set("rank" + std::to_string(rank), {'1'});
    if (rank == 0) {
        gather_ranks(rendezvous, address);
    } else {
        come_to_rank_0(rendezvous);
    }
    barrier();
}

std::vector<sockaddr_in> Meeting::exchange_ports(const Descriptor& socket, in_addr address) {
    return exchange(bound(socket, address));
}

void Meeting::gather_ranks(Rendezvous& rendezvous, in_addr address) {
    const Descriptor listener = tcp_socket();
    Place place{};
    place.address = bound(listener, address);
    if (listen(listener.number(), size_) != 0) {
        throw std::runtime_error("cannot listen at " + words_of(place.address));
    }
    run_word_ = std::random_device{}();
    place.run_word = run_word_;
    const auto* const bytes = reinterpret_cast<const char*>(&place);
    rendezvous.set(kKey, std::vector<char>(bytes, bytes + sizeof place));

    peers_.resize(static_cast<std::size_t>(size_));
    const auto deadline = after(timeout_);
    int missing = size_ - 1;
    std::vector<Descriptor> callers; // who has not said yet who it is: somebody else says nothing
    while (missing > 0) {
        std::vector<pollfd> entries = {{listener.number(), POLLIN, 0}};
        for (const Descriptor& caller : callers) {
            entries.push_back({caller.number(), POLLIN, 0});
        }
        if (!ready(entries.data(), entries.size(), deadline)) {
            break;
        }
        for (std::size_t each = callers.size(); each-- > 0;) {
            if (entries[each + 1].revents != 0) {
                missing -= let_in(std::move(callers[each])) ? 1 : 0;
                callers.erase(callers.begin() + static_cast<std::ptrdiff_t>(each));
            }
        }
        if (entries.front().revents != 0) {
            Descriptor caller(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
            if (caller.number() >= 0) {
                callers.push_back(std::move(caller));
            }
        }
    }
    std::string names;
    for (std::size_t rank = 1; rank < peers_.size() && missing > 0; ++rank) {
        if (peers_[rank].number() < 0) {
            names += (names.empty() ? "" : ", ") + std::to_string(rank);
        }
    }
    if (missing > 0) {
        throw UsageError("of " + std::to_string(size_) + " ranks (--size), rank " + names +
                         " did not come to " + rendezvous.place() +
                         " in time (--timeout): start them with the same --prefix");
    }
}

// A rank's words are there at once, or they are none.
bool Meeting::let_in(Descriptor caller) {
    Hello hello{};
    if (read_all(caller.number(), &hello, sizeof hello, Clock::now()) != Ending::Done ||
        hello.run_word != run_word_ || hello.rank <= 0 || hello.rank >= size_ ||
        peers_[static_cast<std::size_t>(hello.rank)].number() >= 0) {
        return false;
    }
    send_at_once(caller);
    peers_[static_cast<std::size_t>(hello.rank)] = std::move(caller);
    return true;
}

void Meeting::come_to_rank_0(Rendezvous& rendezvous) {
    rendezvous.wait({kKey});
    const std::vector<char> data = rendezvous.get(kKey);
    Place place{};
    if (data.size() != sizeof place) {
        throw UsageError("the key \"" + std::string(kKey) + "\" in " + rendezvous.place() +
                         " is of another program; give this run another --prefix");
    }
    std::memcpy(&place, data.data(), sizeof place);
    run_word_ = place.run_word;
    Descriptor socket = tcp_socket();
    const Hello hello{run_word_, rank_};
    const auto deadline = after(timeout_);
    if (!connect_until(socket, place.address, timeout_) ||
        write_all(socket.number(), &hello, sizeof hello, deadline) != Ending::Done) {
        throw UsageError("rank 0 does not answer at " + words_of(place.address) +
                         ": it has ended, or its key is of an earlier run; give each run a "
                         "--prefix of its own, and --tcp-device one that all ranks reach");
    }
    send_at_once(socket);
    peers_.push_back(std::move(socket));
}

void Meeting::lose(Verdict verdict) const {
    throw RankLost("rank " + std::to_string(verdict.rank) +
                   (verdict.loss == Loss::Closed
                        ? " is gone: its connection closed"
                        : " is silent: nothing came from it for " +
                              std::to_string(static_cast<int>(kPatienceOfRank0 * timeout_)) +
                              " s (twice --timeout)"));
}

void Meeting::exchange(const void* word, void* words, std::size_t bytes) {
    if (rank_ == 0) {
        collect(word, static_cast<char*>(words), bytes);
        return;
    }
    const int peer = peers_.front().number();
    const auto deadline = after(kPatienceOfOthers * timeout_);
    Verdict verdict{};
    Ending ending = write_all(peer, word, bytes, deadline);
    if (ending == Ending::Done) {
        ending = read_all(peer, &verdict, sizeof verdict, deadline);
    }
    if (ending == Ending::Done && verdict.loss == Loss::None) {
        ending = read_all(peer, words, bytes * static_cast<std::size_t>(size_), deadline);
    }
    if (ending != Ending::Done) {
        lose({ending == Ending::Closed ? Loss::Closed : Loss::Silent, 0});
    }
    if (verdict.loss != Loss::None) {
        lose(verdict);
    }
}

void Meeting::collect(const void* word, char* words, std::size_t bytes) {
    const auto deadline = after(kPatienceOfRank0 * timeout_);
    const auto soon = after(kPatienceOfOthers * timeout_);
    std::memcpy(words, word, bytes);
    Verdict verdict{Loss::None, 0};
    for (std::size_t rank = 1; rank < peers_.size(); ++rank) {
        const Ending ending =
            read_all(peers_[rank].number(), words + rank * bytes, bytes, deadline);
        if (ending != Ending::Done && verdict.loss != Loss::Closed) {
            verdict = {ending == Ending::Closed ? Loss::Closed : Loss::Silent,
                       static_cast<std::uint32_t>(rank)};
        }
    }
    for (std::size_t rank = 1; rank < peers_.size(); ++rank) {
        // Whoever cannot be told finds out at its own deadline.
        (void)write_all(peers_[rank].number(), &verdict, sizeof verdict, soon);
        if (verdict.loss == Loss::None) {
            (void)write_all(peers_[rank].number(), words, bytes * peers_.size(), soon);
        }
    }
    if (verdict.loss != Loss::None) {
        lose(verdict);
    }
}

} // namespace allreduce_lab
