#include "allreduce_lab/bursts.hpp"

#include "common/clock.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <sys/socket.h>

namespace allreduce_lab {

namespace {

// Chosen by us: several sums in a burst, several bursts in a probe, and less than half of the time,
// so that the median stays that of the idle network.
constexpr double kBurst = 0.15;
constexpr double kPause = 0.50; // on average
constexpr double kTick = 1e-3;
constexpr std::size_t kLargest = 61440; // bytes of a datagram, which IP cuts up

void rest(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

} // namespace

Bursts::Bursts(Meeting& meeting, in_addr address)
    : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const int receive = 4096; // nobody reads
    (void)setsockopt(socket_.number(), SOL_SOCKET, SO_RCVBUF, &receive, sizeof receive);
    const std::vector<sockaddr_in> ports = meeting.exchange_ports(socket_, address);
    if (meeting.rank() < 2) {
        const sockaddr_in& peer = ports[static_cast<std::size_t>(1 - meeting.rank())];
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the API of sockets
        if (connect(socket_.number(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) {
            throw std::runtime_error("no way for other traffic");
        }
        thread_ = std::thread([this] { send(); });
    }
}

Bursts::~Bursts() {
    over_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
}

// The same pauses at both ends: a burst goes both ways.
void Bursts::send() {
    std::mt19937_64 random(1); // NOLINT(cert-msc32-c,cert-msc51-cpp)
    std::exponential_distribution<double> pause(1 / kPause);
    double next = bench::steady_seconds();
    while (!over_) {
        const double begin = next;
        next += kBurst + std::min(pause(random), 5 * kPause);
        burst(begin + kBurst);
        while (!over_ && bench::steady_seconds() < next) {
            rest(std::clamp(next - bench::steady_seconds(), 0.0, kBurst));
        }
    }
}

void Bursts::burst(double end) {
    const std::array<char, kLargest> data{};
    double last = bench::steady_seconds();
    double due = 0.0;
    while (!over_ && last < end) {
        rest(kTick);
        const double time = bench::steady_seconds();
        // Who slept too long does not make up for all of it.
        due = std::min(due + rate_ * (time - last), 10 * kTick * rate_);
        last = time;
        while (due >= 1.0) {
            const std::size_t bytes = std::min(static_cast<std::size_t>(due), kLargest);
            // What the interface does not take is lost, as on a full network.
            (void)::send(socket_.number(), data.data(), bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
            due -= static_cast<double>(bytes);
        }
    }
}

} // namespace allreduce_lab
