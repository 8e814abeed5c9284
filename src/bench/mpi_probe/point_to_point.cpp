#include "mpi_probe/point_to_point.hpp"

#include "common/statistics.hpp"
#include "mpi_probe/measure.hpp"

#include <algorithm>
#include <cstring>

namespace mpi_probe {

namespace {

constexpr int kPingTag = 1;
constexpr int kDataTag = 100;
constexpr int kAckTag = 101;
constexpr int kReverseTag = 10;

// What the four kernels share: buffers, partner, validation data. `Derived` has
// exchange(char* receive), the iteration without its clock reads.
template <class Derived>
class PairKernel : public Kernel {
  public:
    struct Roles {
        int peer;
        bool reads_clock;
        bool sends_data;
        bool receives_data;
    };

    PairKernel(const Context& context, const Message& message, const Roles& roles)
        : message_(message), roles_(roles), rank_(context.world.rank),
          send_(context.buffers.send.data()), receive_(context.buffers.receive.data()),
          scratch_(context.buffers.scratch.data()) {}

    [[gnu::always_inline]] double iterate() {
        if (!roles_.reads_clock) {
            self().exchange(receive_);
            return 0.0;
        }
        const double start = MPI_Wtime();
        self().exchange(receive_);
        return MPI_Wtime() - start;
    }

    void prepare(std::uint64_t iteration) override {
        if (roles_.sends_data) {
            fill_pattern(send_, elements(), message_.type, {rank_, roles_.peer, iteration});
        }
        if (roles_.receives_data) {
            fill_poison(receive_, elements(), message_.type);
        }
    }

    void rehearse(int rounds) override {
        barrier();
        for (int round = 0; round < rounds; ++round) {
            self().exchange(scratch_);
        }
    }

    [[nodiscard]] Mismatch verify(std::uint64_t iteration) const override {
        return check_pattern(receive_, elements(), message_.type, {roles_.peer, rank_, iteration},
                             0);
    }

    [[nodiscard]] bool receives() const override { return roles_.receives_data; }

    void corrupt() override { corrupt_element(receive_, elements() - 1, message_.type); }

  protected:
    [[nodiscard]] int peer() const { return roles_.peer; }
    [[nodiscard]] bool sends_data() const { return roles_.sends_data; }
    [[nodiscard]] char* send_buffer() const { return send_; }
    [[nodiscard]] const Message& message() const { return message_; }

  private:
    Derived& self() { return static_cast<Derived&>(*this); }
    [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(message_.count); }

    Message message_;
    Roles roles_;
    int rank_;
    char* send_;
    char* receive_;
    char* scratch_;
};

class LatencyKernel final : public PairKernel<LatencyKernel> {
  public:
    LatencyKernel(const Context& context, const Message& message)
        : PairKernel(context, message,
                     {1 - context.world.rank, context.world.rank == 0, true, true}),
          first_(context.world.rank == 0) {}

    [[gnu::always_inline]] void exchange(char* receive) {
        if (first_) {
            send();
            receive_into(receive);
        } else {
            receive_into(receive);
            send();
        }
    }

  private:
    [[gnu::always_inline]] void send() {
        check(MPI_Send(send_buffer(), message().count, message().datatype, peer(), kPingTag,
                       MPI_COMM_WORLD),
              "MPI_Send");
    }
    [[gnu::always_inline]] void receive_into(char* receive) {
        check(MPI_Recv(receive, message().count, message().datatype, peer(), kPingTag,
                       MPI_COMM_WORLD, &status_),
              "MPI_Recv");
    }

    bool first_;
    MPI_Status status_{};
};

// A window of messages one way, answered by one byte: bw, and with `kPairs` mbw_mr, where barriers
// stand before each window.
template <bool kPairs>
class WindowKernel final : public PairKernel<WindowKernel<kPairs>> {
    using Base = PairKernel<WindowKernel<kPairs>>;

  public:
    WindowKernel(const Context& context, const Message& message, int pairs)
        : Base(context, message, roles(context.world.rank, pairs)), window_(context.options.window),
          requests_(static_cast<std::size_t>(window_)),
          statuses_(static_cast<std::size_t>(window_)) {}

    [[gnu::always_inline]] double iterate() {
        if constexpr (kPairs) {
            barrier();
            barrier(); // OSU has two here; a second one tightens the common start
        }
        return Base::iterate();
    }

    [[gnu::always_inline]] void exchange(char* receive) {
        const Message& message = this->message();
        if (this->sends_data()) {
            for (int slot = 0; slot < window_; ++slot) {
                check(MPI_Isend(this->send_buffer(), message.count, message.datatype, this->peer(),
                                kDataTag, MPI_COMM_WORLD, requests_.data() + slot),
                      "MPI_Isend");
            }
            wait();
            check(MPI_Recv(receive, 1, MPI_CHAR, this->peer(), kAckTag, MPI_COMM_WORLD,
                           statuses_.data()),
                  "MPI_Recv");
        } else {
            for (int slot = 0; slot < window_; ++slot) {
                check(MPI_Irecv(receive, message.count, message.datatype, this->peer(), kDataTag,
                                MPI_COMM_WORLD, requests_.data() + slot),
                      "MPI_Irecv");
            }
            wait();
            check(MPI_Send(this->send_buffer(), 1, MPI_CHAR, this->peer(), kAckTag, MPI_COMM_WORLD),
                  "MPI_Send");
        }
    }

  private:
    static typename Base::Roles roles(int rank, int pairs) {
        const bool sender = rank < pairs;
        return {sender ? rank + pairs : rank - pairs, sender, sender, !sender};
    }

    [[gnu::always_inline]] void wait() { wait_all(window_, requests_.data(), statuses_.data()); }

    int window_;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
};

class BidirectionalKernel final : public PairKernel<BidirectionalKernel> {
  public:
    BidirectionalKernel(const Context& context, const Message& message)
        : PairKernel(context, message,
                     {1 - context.world.rank, context.world.rank == 0, true, true}),
          window_(context.options.window), first_(context.world.rank == 0),
          send_tag_(first_ ? kDataTag : kReverseTag), receive_tag_(first_ ? kReverseTag : kDataTag),
          sends_(static_cast<std::size_t>(window_)), receives_(static_cast<std::size_t>(window_)),
          statuses_(static_cast<std::size_t>(window_)) {}

    [[gnu::always_inline]] void exchange(char* receive) {
        for (int slot = 0; slot < window_; ++slot) {
            check(MPI_Irecv(receive, message().count, message().datatype, peer(), receive_tag_,
                            MPI_COMM_WORLD, receives_.data() + slot),
                  "MPI_Irecv");
        }
        for (int slot = 0; slot < window_; ++slot) {
            check(MPI_Isend(send_buffer(), message().count, message().datatype, peer(), send_tag_,
                            MPI_COMM_WORLD, sends_.data() + slot),
                  "MPI_Isend");
        }
        wait(first_ ? sends_ : receives_);
        wait(first_ ? receives_ : sends_);
    }

  private:
    [[gnu::always_inline]] void wait(std::vector<MPI_Request>& requests) {
        wait_all(window_, requests.data(), statuses_.data());
    }

    int window_;
    bool first_;
    int send_tag_;
    int receive_tag_;
    std::vector<MPI_Request> sends_;
    std::vector<MPI_Request> receives_;
    std::vector<MPI_Status> statuses_;
};

// Buffers for the largest size, made at the first size, touched at each size up to it: OSU's way.
Message prepare_buffers(Context& context, std::uint64_t size) {
    Buffers& buffers = context.buffers;
    const Message message = make_message(context.options, size);
    const std::size_t largest = context.options.maximum_size;
    if (!buffers.send) {
        buffers.send = PageBuffer(largest, 'a', PageBuffer::Touch::Later);
        buffers.receive = PageBuffer(largest, 'b', PageBuffer::Touch::Later);
        if (context.options.validate) {
            buffers.scratch = PageBuffer(largest, 'c');
        }
    }
    std::memset(buffers.send.data(), 'a', message.bytes);
    std::memset(buffers.receive.data(), 'b', message.bytes);
    return message;
}

SizeResult start_result(std::uint64_t size, const Timings& timings) {
    SizeResult result;
    result.size = size;
    result.iterations = timings.seconds.size();
    result.warmup = timings.warmup;
    result.valid = timings.valid;
    return result;
}

// The average is all data over all time; a percentile is one of a single window's bandwidth.
SizeResult bandwidth_result(std::uint64_t size, const Timings& timings, double bytes_per_iteration,
                            double total_seconds) {
    SizeResult result = start_result(size, timings);
    result.average =
        bytes_per_iteration * static_cast<double>(timings.seconds.size()) / total_seconds;
    result.ascending = timings.seconds;
    for (double& value : result.ascending) {
        value = bytes_per_iteration / value;
    }
    std::sort(result.ascending.begin(), result.ascending.end());
    return result;
}

double window_bytes(const Context& context, std::uint64_t size) {
    return static_cast<double>(size) * context.options.window;
}

} // namespace

SizeResult run_latency(Context& context, std::uint64_t size) {
    LatencyKernel kernel(context, prepare_buffers(context, size));
    const Timings timings = measure(context, kernel, size);
    SizeResult result = start_result(size, timings);
    result.ascending = timings.seconds;
    for (double& value : result.ascending) {
        value /= 2.0; // one way
    }
    result.average = bench::sum(result.ascending) / static_cast<double>(result.iterations);
    std::sort(result.ascending.begin(), result.ascending.end());
    return result;
}

SizeResult run_bw(Context& context, std::uint64_t size) {
    WindowKernel<false> kernel(context, prepare_buffers(context, size), 1);
    const Timings timings = measure(context, kernel, size);
    return bandwidth_result(size, timings, window_bytes(context, size),
                            bench::sum(timings.seconds));
}

SizeResult run_bibw(Context& context, std::uint64_t size) {
    BidirectionalKernel kernel(context, prepare_buffers(context, size));
    const Timings timings = measure(context, kernel, size);
    return bandwidth_result(size, timings, 2.0 * window_bytes(context, size),
                            bench::sum(timings.seconds));
}

SizeResult run_mbw_mr(Context& context, std::uint64_t size) {
    const int pairs = context.world.size / 2;
    WindowKernel<true> kernel(context, prepare_buffers(context, size), pairs);
    const Timings timings = measure(context, kernel, size);
    const double here = bench::sum(timings.seconds); // 0 on receivers
    double of_senders = 0.0;
    check(MPI_Reduce(&here, &of_senders, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD), "MPI_Reduce");
    SizeResult result =
        bandwidth_result(size, timings, window_bytes(context, size) * pairs, of_senders / pairs);
    result.message_rate = result.average / static_cast<double>(size);
    return result;
}

} // namespace mpi_probe
