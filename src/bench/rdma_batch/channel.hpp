// The TCP connection between the two ends. Every wait has an end.
#pragma once

#include "common/descriptor.hpp"
#include "rdma_batch/wire.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdma_batch {

/// Seconds that the other end has to answer.
constexpr double kAnswer = 10.0;

using bench::Descriptor;

/// One connection. Errors are PeerError with one sentence.
class Channel {
  public:
    explicit Channel(Descriptor socket);

    void send(Type type, const Bytes& payload = {});

    /// Says Refuse, if the other end still hears.
    void try_refuse(const std::string& sentence);

    /// The payload of the next message, which must be of that type and come within `seconds`. A
    /// Refuse is an error with the other end's own words.
    Bytes receive(Type expected, double seconds);

    /// Whether the other end has ended the connection, in order or not. Does not wait.
    [[nodiscard]] bool is_over() const;

    [[nodiscard]] int number() const { return socket_.number(); }

    /// The next message, or nothing if the other end has ended the connection in order.
    std::optional<std::pair<Type, Bytes>> receive_any(double seconds);

  private:
    Descriptor socket_;
};

/// Where initiators come to.
class Listener {
  public:
    /// Listens on the port of that address of this machine; empty: of every address.
    Listener(const std::string& address, std::uint16_t port);

    /// The next connection whose first words `hear` takes, within `seconds`. Others hold nothing
    /// up: what makes `hear` throw PeerError, or is silent for ten seconds, is closed with a line
    /// on standard error.
    Channel next(double seconds, const std::function<void(Channel&)>& hear);

    /// In a process that serves a connection: closes everything else.
    void forget();

  private:
    struct Newcomer {
        Channel channel;
        std::string address;
        std::chrono::steady_clock::time_point silent_until;
    };
    void take_newcomer();
    void dismiss_silent();

    Descriptor socket_;
    std::vector<Newcomer> newcomers_;
};

/// A connection to the target, tried again until it listens or `seconds` are over, from that
/// address of this machine; empty: from any.
Channel connect_to(const std::string& host, std::uint16_t port, const std::string& own_address,
                   double seconds);

} // namespace rdma_batch
