// Other traffic on the network: datagrams between ranks 0 and 1, both ways, on and off.
#pragma once

#include "allreduce_lab/meeting.hpp"

#include <atomic>
#include <thread>

namespace allreduce_lab {

class Bursts {
  public:
    /// All ranks together. Silent until it is given a rate.
    Bursts(Meeting& meeting, in_addr address);
    ~Bursts();
    Bursts(const Bursts&) = delete;
    Bursts& operator=(const Bursts&) = delete;
    Bursts(Bursts&&) = delete;
    Bursts& operator=(Bursts&&) = delete;

    /// Bytes/s of each burst, in each direction.
    void set_rate(double bytes_per_second) { rate_ = bytes_per_second; }

  private:
    void send();
    void burst(double end);

    Descriptor socket_;
    std::atomic<double> rate_{0.0};
    std::atomic<bool> over_{false};
    std::thread thread_;
};

} // namespace allreduce_lab
