// Other traffic on the network: bursts of datagrams, or flows over TCP that never end.
#pragma once

#include "allreduce_lab/meeting.hpp"
#include "allreduce_lab/options.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace allreduce_lab {

/// What a rank sent until now.
struct Sent {
    std::uint64_t bytes = 0;
    std::uint64_t bursts = 0; ///< begun
    double seconds = 0.0;     ///< of bursts, or since the flows began
    bool on = false;
};

class Traffic {
  public:
    /// All ranks together, silent until it begins. Who sends to whom is the environment's: long,
    /// ranks 0 and 1 to each other at the same times; short, each rank by itself to the next one;
    /// elastic, over --flows connections between ranks 0 and 1, as the ring of that many processes
    /// has them, half of them in each direction.
    Traffic(Meeting& meeting, const Options& options, in_addr address);
    ~Traffic();
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;
    Traffic(Traffic&&) = delete;
    Traffic& operator=(Traffic&&) = delete;

    /// Bytes/s and seconds of each burst, and seconds of a pause on average. Flows take what TCP
    /// gives them.
    void begin(double rate, double burst = 0.0, double pause = 0.0);
    /// Bytes/s of each burst from now on.
    void set_rate(double bytes_per_second) { rate_ = bytes_per_second; }
    /// Seconds of a pause on average from now on.
    void set_pause(double seconds) { pause_ = seconds; }
    [[nodiscard]] Sent sent() const { return {bytes_, bursts_, seconds_, on_}; }
    /// Whether a flow broke, which none does by itself.
    [[nodiscard]] bool broken() const { return broken_; }

  private:
    void connect_flows(Meeting& meeting, const Options& options, in_addr address);
    void send_bursts();
    void burst(double end);
    void send_flows();
    void use(const Descriptor& flow);

    bool elastic_;
    bool alike_; ///< all that send have the same pauses
    int rank_;
    bool sends_;
    Descriptor socket_;
    std::vector<Descriptor> flows_;
    std::vector<char> data_;
    double burst_ = 0.0;
    std::atomic<double> pause_{0.0};
    std::atomic<double> rate_{0.0};
    std::atomic<double> seconds_{0.0};
    std::atomic<std::uint64_t> bytes_{0};
    std::atomic<std::uint64_t> bursts_{0};
    std::atomic<bool> on_{false};
    std::atomic<bool> over_{false};
    std::atomic<bool> broken_{false};
    std::thread thread_;
};

} // namespace allreduce_lab
