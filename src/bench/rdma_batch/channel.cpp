#include "rdma_batch/channel.hpp"

#include "common/arguments.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace rdma_batch {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr auto kBetweenTries = std::chrono::milliseconds(100);
constexpr int kMillisecond = 1000;
constexpr double kFirstWords = 10.0; // seconds
constexpr int kBetweenLooks = 200;   // milliseconds

std::string reason() {
    return std::strerror(errno);
} // NOLINT(concurrency-mt-unsafe)

std::string told(double seconds) {
    return bench::plain(seconds) + " s";
}

Clock::time_point deadline_in(double seconds) {
    constexpr double kLongest = 1e6;
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(Seconds(std::fmin(seconds, kLongest)));
}

// Whether the descriptor became ready before the deadline.
bool wait_for(int descriptor, short events, Clock::time_point deadline) {
    while (true) {
        const auto left = std::chrono::duration<double>(deadline - Clock::now()).count();
        if (left <= 0) {
            return false;
        }
        pollfd waiting{descriptor, events, 0};
        const int ready = poll(&waiting, 1, static_cast<int>(std::ceil(left * kMillisecond)));
        if (ready > 0) {
            return true;
        }
        if (ready < 0 && errno != EINTR) {
            throw PeerError("waiting for the other end failed: " + reason());
        }
    }
}

// Reads exactly so many bytes; false if the connection ended before the first of them.
bool read_all(int descriptor, std::byte* bytes, std::size_t count, Clock::time_point deadline,
              double seconds) {
    std::size_t done = 0;
    while (done < count) {
        if (!wait_for(descriptor, POLLIN, deadline)) {
            throw PeerError("expected a message of the other end within " + told(seconds) +
                            ", found " + (done == 0 ? "none" : "half of one") +
                            ": it hangs, or is no rdma_batch");
        }
        const ssize_t got = recv(descriptor, bytes + done, count - done, 0);
        if (got < 0 && errno != EINTR) {
            throw PeerError("the connection to the other end broke: " + reason());
        }
        if (got == 0 && done == 0) {
            return false;
        }
        if (got == 0) {
            throw PeerError("the other end closed the connection in the middle of a message: it "
                            "died, or is no rdma_batch");
        }
        done += static_cast<std::size_t>(got < 0 ? 0 : got);
    }
    return true;
}

// So that a machine that died without a word is noticed while nothing is said.
void watch_connection(int descriptor) {
    const int on = 1;
    const int seconds = 10;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

struct FreeAddresses {
    void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses resolve(const char* host, std::uint16_t port) {
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_NUMERICSERV | (host == nullptr ? AI_PASSIVE : 0);
    addrinfo* list = nullptr;
    const int error = getaddrinfo(host, std::to_string(port).c_str(), &wanted, &list);
    if (error != 0) {
        throw PeerError(std::string("expected the name or address of a host, found \"") +
                        (host == nullptr ? "" : host) + "\": " + gai_strerror(error));
    }
    return Addresses(list);
}

Descriptor open_listener(const addrinfo& address) {
    Descriptor socket_(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    const int off = 0;
    (void)setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.ai_family == AF_INET6) {
        (void)setsockopt(socket_.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    constexpr int kBacklog = 64;
    if (socket_.number() < 0 || bind(socket_.number(), address.ai_addr, address.ai_addrlen) != 0 ||
        listen(socket_.number(), kBacklog) != 0) {
        return Descriptor();
    }
    return socket_;
}

// Whether the socket got one of those addresses.
bool come_from(const Descriptor& socket_, const addrinfo& addresses, int family) {
    for (const addrinfo* each = &addresses; each != nullptr; each = each->ai_next) {
        if (each->ai_family == family &&
            bind(socket_.number(), each->ai_addr, each->ai_addrlen) == 0) {
            return true;
        }
    }
    return false;
}

void tell_dismissed(const std::string& address, const std::string& why) {
    (void)std::fprintf(stderr, "rdma_batch: a connection from %s is closed and ignored: %s\n",
                       address.c_str(), why.c_str());
}

} // namespace

Channel::Channel(Descriptor socket) : socket_(std::move(socket)) {
    watch_connection(socket_.number());
}

void Channel::send(Type type, const Bytes& payload) {
    Bytes message = encode_header(type, payload.size());
    message.insert(message.end(), payload.begin(), payload.end());
    constexpr double kPatience = 10.0;
    const auto deadline = deadline_in(kPatience);
    std::size_t done = 0;
    while (done < message.size()) {
        if (!wait_for(socket_.number(), POLLOUT, deadline)) {
            throw PeerError("the other end takes no message: it hangs, or is no rdma_batch");
        }
        const ssize_t put =
            ::send(socket_.number(), message.data() + done, message.size() - done, MSG_NOSIGNAL);
        if (put < 0 && errno != EINTR) {
            throw PeerError("the connection to the other end broke: " + reason());
        }
        done += static_cast<std::size_t>(put < 0 ? 0 : put);
    }
}

void Channel::try_refuse(const std::string& sentence) {
    try {
        send(Type::Refuse, encode(sentence));
    } catch (const PeerError&) {
        return; // it is gone, so that it can't hear why
    }
}

std::optional<std::pair<Type, Bytes>> Channel::receive_any(double seconds) {
    const auto deadline = deadline_in(seconds);
    std::array<std::byte, kHeaderBytes> head{};
    if (!read_all(socket_.number(), head.data(), head.size(), deadline, seconds)) {
        return std::nullopt;
    }
    const Header header = decode_header(head);
    Bytes payload(header.length);
    if (header.length > 0 &&
        !read_all(socket_.number(), payload.data(), payload.size(), deadline, seconds)) {
        throw PeerError("the other end closed the connection in the middle of a message: it "
                        "died, or is no rdma_batch");
    }
    if (header.type == Type::Refuse) {
        throw PeerError("the other end refuses: " + decode_text(payload));
    }
    return std::pair{header.type, std::move(payload)};
}

Bytes Channel::receive(Type expected, double seconds) {
    std::optional<std::pair<Type, Bytes>> message = receive_any(seconds);
    if (!message) {
        throw PeerError("the other end closed the connection: it died, or is no rdma_batch");
    }
    if (message->first != expected) {
        throw PeerError("expected message " + std::to_string(static_cast<unsigned>(expected)) +
                        " of the other end, found " +
                        std::to_string(static_cast<unsigned>(message->first)) +
                        ": it runs with other options, or is no rdma_batch of this version");
    }
    return std::move(message->second);
}

bool Channel::is_over() const {
    pollfd waiting{socket_.number(), POLLRDHUP, 0};
    return poll(&waiting, 1, 0) > 0;
}

Listener::Listener(const std::string& address, std::uint16_t port) {
    const Addresses addresses = resolve(address.empty() ? nullptr : address.c_str(), port);
    // One IPv6 socket takes IPv4 as well; a machine without IPv6 has only the other.
    for (const int family : {AF_INET6, AF_INET}) {
        for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
            if (each->ai_family == family && socket_.number() < 0) {
                socket_ = open_listener(*each);
            }
        }
    }
    if (socket_.number() < 0) {
        throw PeerError("expected to listen on port " + std::to_string(port) +
                        (address.empty() ? "" : " of " + address) + ", found " + reason() +
                        ": choose another with --tcp-port" +
                        (address.empty() ? "" : ", or an address of this machine with --host"));
    }
}

void Listener::take_newcomer() {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the API of sockets
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    Descriptor connection(accept4(socket_.number(), plain, &length, SOCK_CLOEXEC));
    if (connection.number() < 0) {
        return; // it has gone already
    }
    std::array<char, NI_MAXHOST> name{};
    (void)getnameinfo(plain, length, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST);
    newcomers_.push_back({Channel(std::move(connection)), name.data(), deadline_in(kFirstWords)});
}

void Listener::dismiss_silent() {
    const auto silent = [](const Newcomer& each) {
        if (Clock::now() < each.silent_until) {
            return false;
        }
        tell_dismissed(each.address, "it said nothing for " + told(kFirstWords));
        return true;
    };
    newcomers_.erase(std::remove_if(newcomers_.begin(), newcomers_.end(), silent),
                     newcomers_.end());
}

Channel Listener::next(double seconds, const std::function<void(Channel&)>& hear) {
    const auto deadline = deadline_in(seconds);
    while (Clock::now() < deadline) {
        std::vector<pollfd> waiting{{socket_.number(), POLLIN, 0}};
        for (const Newcomer& each : newcomers_) {
            waiting.push_back({each.channel.number(), POLLIN, 0});
        }
        if (poll(waiting.data(), waiting.size(), kBetweenLooks) < 0 && errno != EINTR) {
            throw PeerError("waiting for an initiator failed: " + reason());
        }
        for (std::size_t index = newcomers_.size(); index-- > 0;) {
            if (waiting[index + 1].revents == 0) {
                continue;
            }
            Newcomer newcomer = std::move(newcomers_[index]);
            newcomers_.erase(newcomers_.begin() + static_cast<std::ptrdiff_t>(index));
            try {
                hear(newcomer.channel);
                return std::move(newcomer.channel);
            } catch (const PeerError& error) {
                tell_dismissed(newcomer.address, error.what());
                newcomer.channel.try_refuse(error.what());
            }
        }
        dismiss_silent();
        if (waiting.front().revents != 0) {
            take_newcomer();
        }
    }
    throw PeerError("expected an initiator within " + told(seconds) +
                    ", found none: start it with the same options and this host's name");
}

void Listener::forget() {
    newcomers_.clear();
    socket_.close();
}

Channel connect_to(const std::string& host, std::uint16_t port, const std::string& own_address,
                   double seconds) {
    const auto deadline = deadline_in(seconds);
    std::string why;
    const Addresses addresses = resolve(host.c_str(), port);
    const Addresses own = own_address.empty() ? Addresses() : resolve(own_address.c_str(), 0);
    do {
        for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
            Descriptor socket_(
                socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
            if (own != nullptr && !come_from(socket_, *own, each->ai_family)) {
                why = "option --host: " + own_address + " is no address of this machine for it";
                continue;
            }
            int error = 0;
            socklen_t length = sizeof error;
            if (connect(socket_.number(), each->ai_addr, each->ai_addrlen) == 0 ||
                (errno == EINPROGRESS && wait_for(socket_.number(), POLLOUT, deadline) &&
                 getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 &&
                 error == 0)) {
                return Channel(std::move(socket_));
            }
            why = std::strerror(error != 0 ? error : errno); // NOLINT(concurrency-mt-unsafe)
        }
        std::this_thread::sleep_for(kBetweenTries);
    } while (Clock::now() < deadline);
    throw PeerError("expected a target on " + host + ", port " + std::to_string(port) +
                    ", within " + told(seconds) + ", found none (" + why +
                    "): start rdma_batch there first, and open the port");
}

} // namespace rdma_batch
