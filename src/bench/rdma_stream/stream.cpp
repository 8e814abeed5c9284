#include "rdma_stream/stream.hpp"

#include "common/interrupt.hpp"
#include "rdma_stream/payload.hpp"

#include <algorithm>
#include <ctime>
#include <exception>

namespace rdma_stream {

namespace {

using std::chrono::microseconds;

constexpr std::uint32_t kArrivalsAtOnce = 64;
constexpr microseconds kLongestWait{1000};

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double thread_cpu() {
    timespec time{};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    constexpr double kNano = 1e-9;
    return static_cast<double>(time.tv_sec) + kNano * static_cast<double>(time.tv_nsec);
}

// How long nothing has happened; the clock is read only when nothing happens.
class Idle {
  public:
    void end() { lasts_ = false; }
    double seconds() {
        if (!lasts_) {
            lasts_ = true;
            since_ = Clock::now();
        }
        return seconds_since(since_);
    }

  private:
    bool lasts_ = false;
    Clock::time_point since_;
};

std::string gave_up(const char* what, double seconds) {
    return "gave up after " + std::to_string(seconds).substr(0, 5) + " s without " + what;
}

std::string stopped_by_signal() {
    return "ended by " + bench::signal_name(bench::interrupted_by());
}

// The transmitter's loop, in parts.
class Transmission {
  public:
    Transmission(Sender& sender, const Options& options, std::size_t content_bytes,
                 const std::function<bool()>& given_up)
        : sender_(sender), options_(options), content_bytes_(content_bytes), given_up_(given_up),
          chain_(options.send_delay > 0.0 ? 1 : options.messages_per_block), numbers_(chain_) {}

    void run(Sent& sent) {
        start_ = Clock::now();
        while (sent.numbers < last_ || sent.completed < turn_) {
            if (bench::interrupted_by() != 0 && sent.failure.empty()) {
                sent.failure = stopped_by_signal();
                last_ = sent.numbers;
            }
            if (options_.time_budget && seconds_since(start_) > *options_.time_budget) {
                last_ = sent.numbers;
            }
            post(sent);
            if (const std::uint32_t freed = sender_.reap(); freed != 0) {
                sent.completed += freed;
                idle_.end();
            } else if (!rest(sent)) {
                sent.failure = gave_up("a completion", options_.timeout);
                return;
            } else if (given_up_()) {
                sent.failure = "its receiver gave up";
                return;
            }
        }
    }

    [[nodiscard]] Clock::time_point start() const { return start_; }

  private:
    [[nodiscard]] double until_due() const {
        return options_.send_delay * static_cast<double>(turn_) - seconds_since(start_);
    }

    [[nodiscard]] bool is_due() const { return options_.send_delay == 0.0 || until_due() <= 0.0; }

    [[nodiscard]] std::uint64_t free_slots(const Sent& sent) const {
        return options_.slots() - (turn_ - sent.completed);
    }

    void post(Sent& sent) {
        while (sent.numbers < last_ && free_slots(sent) >= chain_ && is_due()) {
            const std::uint32_t count = number_next(sent);
            if (count != 0) {
                sender_.post(turn_, numbers_.data(), count);
                turn_ += count;
            }
        }
    }

    // The numbers of the next chain; their content is written.
    std::uint32_t number_next(Sent& sent) {
        std::uint32_t count = 0;
        while (count < chain_ && sent.numbers < last_) {
            const std::uint64_t number = sent.numbers++;
            if (options_.inject_loss != 0 && (number + 1) % options_.inject_loss == 0) {
                continue;
            }
            unsigned char* const content = sender_.content(turn_ + count);
            fill_content(options_.test, number + options_.seed, content, content_bytes_);
            if (options_.inject_error && number == 0 && content_bytes_ > 0) {
                content[0] ^= 1U;
            }
            numbers_[count++] = static_cast<std::uint32_t>(number);
        }
        return count;
    }

    // Nothing to reap: false when that has lasted too long. Waiting for the next message's time is
    // no idleness.
    bool rest(const Sent& sent) {
        microseconds longest = kLongestWait;
        if (sent.numbers < last_ && options_.send_delay > 0.0 && free_slots(sent) != 0) {
            constexpr double kMicro = 1e6;
            const double wait = std::clamp(until_due() * kMicro, 0.0, 1e3);
            longest = microseconds(static_cast<long>(wait));
            if (sent.completed == turn_) {
                idle_.end();
            }
        }
        sender_.wait(longest);
        return idle_.seconds() < options_.timeout;
    }

    Sender& sender_;
    const Options& options_;
    std::size_t content_bytes_;
    const std::function<bool()>& given_up_;
    std::uint32_t chain_;
    std::vector<std::uint32_t> numbers_;
    std::uint64_t turn_ = 0;                 ///< messages posted
    std::uint64_t last_ = options_.messages; ///< numbers to use up
    Clock::time_point start_;
    Idle idle_;
};

// The receiver's loop, in parts.
class Reception {
  public:
    Reception(Receiver& receiver, Ends& ends, const Options& options, std::uint32_t streams,
              std::size_t content_bytes)
        : receiver_(receiver), ends_(ends), options_(options), content_bytes_(content_bytes),
          streams_(streams, Received{Sequence(options.messages), 0, {}, 0.0, {}}),
          open_(streams, true), left_(streams) {}

    void run() {
        start_ = Clock::now();
        while (left_ != 0) {
            // A signal comes to all ranks, so transmitters get a moment to say their ends.
            if (bench::interrupted_by() != 0 && stopping_.seconds() > options_.drain()) {
                fail(stopped_by_signal());
                return;
            }
            const std::uint32_t count = receiver_.take(arrivals_.data(), kArrivalsAtOnce);
            if (count != 0) {
                idle_.end();
                count_arrivals(count);
                receiver_.release(arrivals_.data(), count);
            } else {
                rest();
            }
        }
    }

    void fail(const std::string& reason) {
        for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
            if (open_[stream]) {
                close(stream, reason);
            }
        }
    }

    [[nodiscard]] std::vector<Received> result() { return std::move(streams_); }

  private:
    void count_arrivals(std::uint32_t count) {
        const double now = seconds_since(start_);
        for (std::uint32_t index = 0; index < count; ++index) {
            const Arrival& arrival = arrivals_[index];
            Received& stream = streams_[arrival.stream];
            stream.sequence.arrive(arrival.number);
            stream.elapsed = now;
            if (options_.test != Test::Throughput && arrival.content != nullptr &&
                !is_content(options_.test, arrival.number + options_.seed, arrival.content,
                            content_bytes_)) {
                ++stream.wrong;
            }
            if (stream.sequence.complete() && open_[arrival.stream]) {
                close(arrival.stream, {});
            }
        }
    }

    // Nothing came: perhaps nothing more will.
    void rest() {
        const double idle = idle_.seconds();
        bool all_ended = true;
        for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
            if (open_[stream]) {
                look_for_end(stream, idle);
                all_ended = all_ended && streams_[stream].sent.has_value();
            }
        }
        if (left_ != 0 && !all_ended && idle > options_.timeout) {
            fail(gave_up("a message", options_.timeout));
        }
        receiver_.wait(kLongestWait);
    }

    void look_for_end(std::uint32_t index, double idle) {
        Received& stream = streams_[index];
        if (!stream.sent) {
            stream.sent = ends_.sent(index);
            if (stream.sent) {
                idle_.end();
            }
            return;
        }
        // What was sent is all there, or what is not there has had the time to come.
        if (stream.sequence.received() >= *stream.sent || idle > options_.drain()) {
            close(index, {});
        }
    }

    void close(std::uint32_t stream, const std::string& failure) {
        streams_[stream].failure = failure;
        open_[stream] = false;
        --left_;
    }

    Receiver& receiver_;
    Ends& ends_;
    const Options& options_;
    std::size_t content_bytes_;
    std::vector<Received> streams_;
    std::vector<bool> open_;
    std::uint32_t left_; ///< streams that are still open
    std::array<Arrival, kArrivalsAtOnce> arrivals_{};
    Clock::time_point start_;
    Idle idle_;
    Idle stopping_; ///< since a signal came
};

} // namespace

Sent transmit(Sender& sender, const Options& options, std::size_t content_bytes,
              const std::function<bool()>& given_up) {
    Sent sent;
    Transmission transmission(sender, options, content_bytes, given_up);
    const double cpu = thread_cpu();
    try {
        transmission.run(sent);
    } catch (const std::exception& error) {
        sent.failure = error.what();
    }
    sent.elapsed = seconds_since(transmission.start());
    sent.cpu = thread_cpu() - cpu;
    return sent;
}

std::vector<Received> receive(Receiver& receiver, Ends& ends, const Options& options,
                              std::uint32_t streams, std::size_t content_bytes, double& cpu) {
    Reception reception(receiver, ends, options, streams, content_bytes);
    const double before = thread_cpu();
    try {
        reception.run();
    } catch (const std::exception& error) {
        reception.fail(error.what());
    }
    cpu = thread_cpu() - before;
    return reception.result();
}

} // namespace rdma_stream
