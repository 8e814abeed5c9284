#include "allreduce_lab/traffic.hpp"

#include "common/clock.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>
#include <sys/socket.h>

namespace allreduce_lab {

namespace {

constexpr double kTick = 1e-3;
constexpr double kLongestRest = 0.1;
constexpr double kLongestPause = 5.0;   // of the average
constexpr std::size_t kLargest = 61440; // bytes of a datagram, which IP cuts up

void rest(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

int socket_of(bool stream) {
    return socket(AF_INET, (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

} // namespace

Traffic::Traffic(Meeting& meeting, const Options& options, in_addr address)
    : elastic_(options.environment == Network::Elastic),
      alike_(options.environment == Network::Long), rank_(meeting.rank()),
      sends_(rank_ < 2 || options.environment == Network::Short), socket_(socket_of(elastic_)),
      data_(kLargest) {
    if (elastic_) {
        meeting.together(
            "the start of other traffic", [&] { connect_flows(meeting, options, address); }, [] {});
        return;
    }
    const int receive = 4096; // nobody reads
    (void)setsockopt(socket_.number(), SOL_SOCKET, SO_RCVBUF, &receive, sizeof receive);
    const std::vector<sockaddr_in> ports = meeting.exchange_ports(socket_, address);
    const int peer = alike_ ? 1 - rank_ : (rank_ + 1) % meeting.size();
    if (sends_ && !connect_until(socket_, ports[static_cast<std::size_t>(peer)], options.timeout)) {
        throw std::runtime_error("no way for other traffic");
    }
}

void Traffic::connect_flows(Meeting& meeting, const Options& options, in_addr address) {
    const sockaddr_in first = meeting.exchange_ports(socket_, address).front();
    const bool listens = rank_ == 0 && listen(socket_.number(), options.flows) == 0;
    meeting.barrier();
    for (int flow = 0; rank_ == 1 && flow < options.flows / 2; ++flow) {
        flows_.emplace_back(socket_of(true));
        broken_ = broken_ || !connect_until(flows_.back(), first, options.timeout);
    }
    meeting.barrier();
    for (int flow = 0; listens && flow < options.flows / 2; ++flow) {
        flows_.emplace_back(
            accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        broken_ = broken_ || flows_.back().number() < 0;
    }
    if (broken_ || (rank_ == 0 && !listens)) {
        throw std::runtime_error("no way for other traffic");
    }
}

Traffic::~Traffic() {
    over_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Traffic::begin(double rate, double burst, double pause) {
    rate_ = rate;
    burst_ = burst;
    pause_ = pause;
    if (sends_) {
        thread_ = std::thread([this] { elastic_ ? send_flows() : send_bursts(); });
    }
}

void Traffic::send_bursts() {
    // NOLINTNEXTLINE(cert-msc51-cpp): the same bursts in each run
    std::mt19937_64 random(alike_ ? 1 : static_cast<std::uint64_t>(rank_) + 1);
    std::exponential_distribution<double> pause;
    double next = bench::steady_seconds();
    while (!over_) {
        const double begin = next;
        next += burst_ + std::min(pause(random), kLongestPause) * pause_;
        burst(begin + burst_);
        while (!over_ && bench::steady_seconds() < next) {
            rest(std::clamp(next - bench::steady_seconds(), 0.0, kLongestRest));
        }
    }
}

void Traffic::burst(double end) {
    double last = bench::steady_seconds();
    double due = 0.0;
    on_ = true;
    ++bursts_;
    while (!over_ && last < end) {
        rest(kTick);
        const double time = bench::steady_seconds();
        // Who slept too long does not make up for all of it.
        due = std::min(due + rate_ * (time - last), 10 * kTick * rate_);
        seconds_ = seconds_ + time - last;
        last = time;
        while (due >= 1.0) {
            const std::size_t bytes = std::min(static_cast<std::size_t>(due), kLargest);
            // What the interface does not take is lost, as on a full network.
            if (::send(socket_.number(), data_.data(), bytes, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
                bytes_ += bytes;
            }
            due -= static_cast<double>(bytes);
        }
    }
    on_ = false;
}

void Traffic::send_flows() {
    const double begin = bench::steady_seconds();
    on_ = true;
    while (!over_ && !broken_) {
        rest(kTick);
        for (const Descriptor& flow : flows_) {
            use(flow);
        }
        seconds_ = bench::steady_seconds() - begin;
    }
    on_ = false;
}

// Both ways at once, as much as TCP gives and takes.
void Traffic::use(const Descriptor& flow) {
    ssize_t count = 0;
    while ((count = recv(flow.number(), data_.data(), data_.size(), MSG_DONTWAIT)) > 0) {
    }
    broken_ = broken_ || count == 0 || errno != EAGAIN;
    while ((count = ::send(flow.number(), data_.data(), data_.size(),
                           MSG_DONTWAIT | MSG_NOSIGNAL)) > 0) {
        bytes_ += static_cast<std::uint64_t>(count);
    }
    broken_ = broken_ || errno != EAGAIN;
}

} // namespace allreduce_lab
