// The TCP connection between the two ends. Every wait has an end.
#pragma once

#include "rdma_batch/wire.hpp"

#include <optional>
#include <string>
#include <utility>

namespace rdma_batch {

/// A file descriptor that is closed with its owner.
class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            close();
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    [[nodiscard]] int number() const { return number_; }
    void close();

  private:
    int number_;
};

/// One connection. Errors are PeerError with one sentence.
class Channel {
  public:
    explicit Channel(Descriptor socket);

    void send(Type type, const Bytes& payload = {});

    /// The payload of the next message, which must be of that type and come within `seconds`. A
    /// Refuse is an error with the other end's own words.
    Bytes receive(Type expected, double seconds);

    /// The next message, or nothing if the other end has ended the connection in order.
    std::optional<std::pair<Type, Bytes>> receive_any(double seconds);

  private:
    Descriptor socket_;
};

/// A socket that listens on the port of every address.
Descriptor listen_on(std::uint16_t port);

/// The next connection, within `seconds`.
Channel accept_from(const Descriptor& listener, double seconds);

/// A connection to the target, tried again until it listens or `seconds` are over.
Channel connect_to(const std::string& host, std::uint16_t port, double seconds);

} // namespace rdma_batch
