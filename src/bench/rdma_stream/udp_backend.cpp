// Messages over UDP: a datagram each, many of them in one call of the kernel.
#include "common/arguments.hpp"
#include "common/buffer.hpp"
#include "common/descriptor.hpp"
#include "common/interface.hpp"
#include "rdma_stream/backends.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <random>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace rdma_stream {

namespace {

using bench::Descriptor;

constexpr std::uint32_t kDatagramsAtOnce = 64;
// Twice what the kernel allows is used if it lets us; a burst may fill more than its default.
constexpr int kSocketBuffer = 16 << 20;

std::string reason(const std::string& what) {
    return what + ": " + std::strerror(errno); // NOLINT(concurrency-mt-unsafe): one thread
}

Descriptor udp_socket() {
    Descriptor made(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (made.number() < 0) {
        throw std::runtime_error(reason("no socket for UDP"));
    }
    for (const int option : {SO_RCVBUF, SO_RCVBUFFORCE, SO_SNDBUF, SO_SNDBUFFORCE}) {
        // FORCE is for root only; the others are cut to what the kernel allows.
        (void)setsockopt(made.number(), SOL_SOCKET, option, &kSocketBuffer, sizeof kSocketBuffer);
    }
    return made;
}

sockaddr_in bound_address(const Descriptor& socket) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the API of sockets
    if (getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        throw std::runtime_error(reason("the address of a socket cannot be read"));
    }
    return address;
}

Descriptor bound_socket(const std::string& interface) {
    Descriptor socket = udp_socket();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr = bench::address_of("--dev", interface);
    if (bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw std::runtime_error(reason("no port for UDP"));
    }
    return socket;
}

// Where a datagram comes from does not prove that it is of this run: the stream's own word does.
struct Place {
    sockaddr_in address;
    std::uint32_t word;
};

Blob to_blob(const Place& place) {
    static_assert(sizeof(Place) <= std::tuple_size_v<Blob>);
    Blob blob{};
    std::memcpy(blob.data(), &place, sizeof place);
    return blob;
}

Place place_of(const Blob& blob) {
    Place place{};
    std::memcpy(&place, blob.data(), sizeof place);
    return place;
}

void connect_to(const Descriptor& socket, const Place& peer) {
    if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&peer.address),
                sizeof peer.address) != 0) {
        throw std::runtime_error(reason("no route for UDP to the other side"));
    }
}

// Waits for one of the sockets; a signal or the end of the time ends it too.
void wait_for(std::vector<pollfd>& sockets, std::chrono::microseconds longest) {
    constexpr long kMicro = 1'000'000;
    const timespec limit{longest.count() / kMicro, longest.count() % kMicro * 1000};
    (void)ppoll(sockets.data(), sockets.size(), &limit, nullptr);
}

class UdpSender : public Sender {
  public:
    explicit UdpSender(const Options& options)
        : options_(options), socket_(bound_socket(options.device)),
          buffer_(std::size_t{options.slots()} * options.message_size, 0), waited_{
                                                                               {socket_.number(),
                                                                                POLLOUT, 0}} {}

    [[nodiscard]] Blob address() const override { return to_blob({bound_address(socket_), 0}); }

    void connect(const Blob& peer) override {
        const Place place = place_of(peer);
        word_ = place.word;
        connect_to(socket_, place);
    }

    unsigned char* content(std::uint64_t turn) override {
        return message(turn) + content_offset(Method::Udp);
    }

    void post(std::uint64_t turn, const std::uint32_t* numbers, std::uint32_t count) override {
        for (std::uint32_t index = 0; index < count; ++index) {
            write_header(message(turn + index), word_, numbers[index]);
        }
        posted_ = turn + count;
    }

    // The kernel takes the datagrams here, as many as its buffer has room for.
    std::uint32_t reap() override {
        std::array<mmsghdr, kDatagramsAtOnce> headers{};
        std::array<iovec, kDatagramsAtOnce> pieces{};
        const auto count =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(posted_ - left_, kDatagramsAtOnce));
        for (std::uint32_t index = 0; index < count; ++index) {
            pieces[index] = {message(left_ + index), options_.message_size};
            headers[index].msg_hdr.msg_iov = &pieces[index];
            headers[index].msg_hdr.msg_iovlen = 1;
        }
        if (count == 0) {
            return 0;
        }
        const int taken = sendmmsg(socket_.number(), headers.data(), count, 0);
        // ENOBUFS: the interface's queue is full; ECONNREFUSED: the receiver has ended already.
        if (taken < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS &&
            errno != ECONNREFUSED) {
            throw std::runtime_error(reason("a datagram of UDP could not be sent"));
        }
        const auto freed = static_cast<std::uint32_t>(std::max(taken, 0));
        left_ += freed;
        return freed;
    }

    void wait(std::chrono::microseconds longest) override {
        if (left_ < posted_) {
            wait_for(waited_, longest);
        } else if (longest > kWorthSleeping) {
            (void)usleep(static_cast<useconds_t>((longest - kWorthSleeping).count()));
        }
    }

  private:
    // The kernel wakes a sleeper up to so much later.
    static constexpr std::chrono::microseconds kWorthSleeping{100};

    [[nodiscard]] unsigned char* message(std::uint64_t turn) const {
        return reinterpret_cast<unsigned char*>(buffer_.data()) +
               turn % options_.slots() * options_.message_size;
    }

    const Options& options_;
    Descriptor socket_;
    bench::PageBuffer buffer_;
    std::vector<pollfd> waited_;
    std::uint32_t word_ = 0;
    std::uint64_t posted_ = 0;
    std::uint64_t left_ = 0;
};

class UdpReceiver : public Receiver {
  public:
    UdpReceiver(const Options& options, std::uint32_t streams)
        : options_(options),
          // One byte more than a message: a longer datagram is none of ours.
          stride_(options.message_size + 1), buffer_(std::size_t{kDatagramsAtOnce} * stride_, 0) {
        std::random_device source;
        for (std::uint32_t stream = 0; stream < streams; ++stream) {
            streams_.push_back(
                {bound_socket(options.device), static_cast<std::uint32_t>(source())});
            waited_.push_back({streams_.back().socket.number(), POLLIN, 0});
        }
    }

    [[nodiscard]] Blob address(std::uint32_t stream) const override {
        return to_blob({bound_address(streams_[stream].socket), streams_[stream].word});
    }

    void connect(std::uint32_t stream, const Blob& peer) override {
        connect_to(streams_[stream].socket, place_of(peer));
    }

    // One socket at a time, in turn.
    std::uint32_t take(Arrival* arrivals, std::uint32_t room) override {
        for (std::size_t tried = 0; tried < streams_.size(); ++tried) {
            next_ = next_ + 1 < streams_.size() ? next_ + 1 : 0;
            if (const std::uint32_t count = take_from(next_, arrivals, room); count != 0) {
                return count;
            }
        }
        return 0;
    }

    void release(const Arrival* /*arrivals*/, std::uint32_t /*count*/) override {}

    void wait(std::chrono::microseconds longest) override { wait_for(waited_, longest); }

  private:
    struct Stream {
        Descriptor socket;
        std::uint32_t word; ///< what its messages begin with
    };

    std::uint32_t take_from(std::uint32_t stream, Arrival* arrivals, std::uint32_t room) {
        std::array<mmsghdr, kDatagramsAtOnce> headers{};
        std::array<iovec, kDatagramsAtOnce> pieces{};
        const std::uint32_t most = std::min(room, kDatagramsAtOnce);
        for (std::uint32_t index = 0; index < most; ++index) {
            pieces[index] = {buffer_.data() + std::size_t{index} * stride_, stride_};
            headers[index].msg_hdr.msg_iov = &pieces[index];
            headers[index].msg_hdr.msg_iovlen = 1;
        }
        const int count =
            recvmmsg(streams_[stream].socket.number(), headers.data(), most, MSG_DONTWAIT, nullptr);
        if (count < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED) {
            throw std::runtime_error(reason("a datagram of UDP could not be received"));
        }
        for (int index = 0; index < count; ++index) {
            const auto slot = static_cast<std::uint32_t>(index);
            arrivals[index] = arrival(stream, slot, headers[slot].msg_len);
        }
        return static_cast<std::uint32_t>(std::max(count, 0));
    }

    [[nodiscard]] Arrival arrival(std::uint32_t stream, std::uint32_t slot,
                                  std::uint32_t bytes) const {
        const auto* const message =
            reinterpret_cast<const unsigned char*>(buffer_.data()) + std::size_t{slot} * stride_;
        if (bytes != options_.message_size ||
            read_header(message).stream != streams_[stream].word) {
            return {stream, slot, kForeign, nullptr};
        }
        return {stream, slot, read_header(message).number, message + content_offset(Method::Udp)};
    }

    const Options& options_;
    std::uint32_t stride_;
    bench::PageBuffer buffer_;
    std::vector<Stream> streams_;
    std::vector<pollfd> waited_;
    std::size_t next_ = 0;
};

} // namespace

std::unique_ptr<Sender> udp_sender(const Options& options) {
    return std::make_unique<UdpSender>(options);
}

std::unique_ptr<Receiver> udp_receiver(const Options& options, std::uint32_t streams) {
    return std::make_unique<UdpReceiver>(options, streams);
}

} // namespace rdma_stream
