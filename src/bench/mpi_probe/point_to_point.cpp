#include "mpi_probe/point_to_point.hpp"

#include "common/statistics.hpp"
#include "mpi_probe/measure.hpp"

#include <algorithm>

namespace mpi_probe {

namespace {

constexpr int kPingTag = 1;
constexpr int kDataTag = 100;
constexpr int kAckTag = 101;
constexpr int kReverseTag = 10;

// What the four kernels share: buffers, partner, validation data. `Derived` has
// exchange(char* receive), the iteration without its clock reads; `Way` is Direct or Staged.
template <class Derived, class Way>
class PairKernel : public Kernel {
  public:
    struct Roles {
        int peer;
        bool reads_clock;
        bool sends_data;
        bool receives_data;
    };

    PairKernel(Context& context, const Message& message, const Roles& roles)
        : message_(message), roles_(roles), rank_(context.world.rank), buffers_(context.buffers),
          way_(context.buffers, message.bytes), send_(context.buffers.send.data()),
          receive_(context.buffers.receive.data()), scratch_(context.buffers.scratch.data()) {}

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
            fill_pattern(buffers_.send.image(), elements(), message_.type,
                         {rank_, roles_.peer, iteration});
            buffers_.send.push(message_.bytes);
        }
        if (roles_.receives_data) {
            fill_poison(buffers_.receive.image(), elements(), message_.type);
            buffers_.receive.push(message_.bytes);
        }
    }

    void rehearse(int rounds) override {
        barrier();
        for (int round = 0; round < rounds; ++round) {
            self().exchange(scratch_);
        }
    }

    [[nodiscard]] Mismatch verify(std::uint64_t iteration) const override {
        buffers_.receive.pull(message_.bytes);
        return check_pattern(buffers_.receive.image(), elements(), message_.type,
                             {roles_.peer, rank_, iteration}, 0);
    }

    [[nodiscard]] bool receives() const override { return roles_.receives_data; }

    void corrupt() override {
        buffers_.receive.pull(message_.bytes);
        corrupt_element(buffers_.receive.image(), elements() - 1, message_.type);
        buffers_.receive.push(message_.bytes);
    }

    [[nodiscard]] Copied copied() const { return way_.copied(); }

  protected:
    [[nodiscard]] int peer() const { return roles_.peer; }
    [[nodiscard]] bool sends_data() const { return roles_.sends_data; }
    [[nodiscard]] const Message& message() const { return message_; }
    // Messages of a window that may be in flight at once.
    [[nodiscard]] int slots(int window) const { return way_.slots(window); }
    [[gnu::always_inline]] char* outgoing(int slot = 0) {
        return way_.outgoing(send_, message_.bytes, slot);
    }
    [[gnu::always_inline]] char* incoming(char* receive, int slot = 0) {
        return way_.incoming(receive, slot);
    }
    // One byte that answers a window: never copied.
    [[gnu::always_inline]] char* acknowledgement() { return way_.incoming(send_, 0); }
    [[gnu::always_inline]] void arrived(char* receive, int slot = 0) {
        way_.arrived(receive, message_.bytes, slot);
    }

  private:
    Derived& self() { return static_cast<Derived&>(*this); }
    [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(message_.count); }

    Message message_;
    Roles roles_;
    int rank_;
    Buffers& buffers_;
    Way way_;
    char* send_;
    char* receive_;
    char* scratch_;
};

template <class Way>
class LatencyKernel final : public PairKernel<LatencyKernel<Way>, Way> {
    using Base = PairKernel<LatencyKernel<Way>, Way>;

  public:
    LatencyKernel(Context& context, const Message& message)
        : Base(context, message, {1 - context.world.rank, context.world.rank == 0, true, true}),
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
        const Message& message = this->message();
        check(MPI_Send(this->outgoing(), message.count, message.datatype, this->peer(), kPingTag,
                       MPI_COMM_WORLD),
              "MPI_Send");
    }
    [[gnu::always_inline]] void receive_into(char* receive) {
        const Message& message = this->message();
        check(MPI_Recv(this->incoming(receive), message.count, message.datatype, this->peer(),
                       kPingTag, MPI_COMM_WORLD, &status_),
              "MPI_Recv");
        this->arrived(receive);
    }

    bool first_;
    MPI_Status status_{};
};

// A window of messages one way, answered by one byte: bw, and with `kPairs` mbw_mr, where barriers
// stand before each window.
template <bool kPairs, class Way>
class WindowKernel final : public PairKernel<WindowKernel<kPairs, Way>, Way> {
    using Base = PairKernel<WindowKernel<kPairs, Way>, Way>;

  public:
    WindowKernel(Context& context, const Message& message, int pairs)
        : Base(context, message, roles(context.world.rank, pairs)), window_(context.options.window),
          part_(Base::slots(window_)), requests_(static_cast<std::size_t>(window_)),
          statuses_(static_cast<std::size_t>(window_)) {}

    [[gnu::always_inline]] double iterate() {
        if constexpr (kPairs) {
            barrier();
            barrier(); // OSU has two here; a second one tightens the common start
        }
        return Base::iterate();
    }

    [[gnu::always_inline]] void exchange(char* receive) {
        if (this->sends_data()) {
            for (int sent = 0; sent < window_; sent += part_) {
                send(std::min(part_, window_ - sent));
            }
            check(MPI_Recv(this->incoming(receive), 1, MPI_CHAR, this->peer(), kAckTag,
                           MPI_COMM_WORLD, statuses_.data()),
                  "MPI_Recv");
        } else {
            for (int received = 0; received < window_; received += part_) {
                receive_into(receive, std::min(part_, window_ - received));
            }
            check(MPI_Send(this->acknowledgement(), 1, MPI_CHAR, this->peer(), kAckTag,
                           MPI_COMM_WORLD),
                  "MPI_Send");
        }
    }

  private:
    static typename Base::Roles roles(int rank, int pairs) {
        const bool sender = rank < pairs;
        return {sender ? rank + pairs : rank - pairs, sender, sender, !sender};
    }

    [[gnu::always_inline]] void send(int messages) {
        const Message& message = this->message();
        for (int slot = 0; slot < messages; ++slot) {
            check(MPI_Isend(this->outgoing(slot), message.count, message.datatype, this->peer(),
                            kDataTag, MPI_COMM_WORLD, requests_.data() + slot),
                  "MPI_Isend");
        }
        wait_all(messages, requests_.data(), statuses_.data());
    }

    [[gnu::always_inline]] void receive_into(char* receive, int messages) {
        const Message& message = this->message();
        for (int slot = 0; slot < messages; ++slot) {
            check(MPI_Irecv(this->incoming(receive, slot), message.count, message.datatype,
                            this->peer(), kDataTag, MPI_COMM_WORLD, requests_.data() + slot),
                  "MPI_Irecv");
        }
        wait_all(messages, requests_.data(), statuses_.data());
        for (int slot = 0; slot < messages; ++slot) {
            this->arrived(receive, slot);
        }
    }

    int window_;
    int part_; ///< messages of the window that are in flight at once
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
};

template <class Way>
class BidirectionalKernel final : public PairKernel<BidirectionalKernel<Way>, Way> {
    using Base = PairKernel<BidirectionalKernel<Way>, Way>;

  public:
    BidirectionalKernel(Context& context, const Message& message)
        : Base(context, message, {1 - context.world.rank, context.world.rank == 0, true, true}),
          window_(context.options.window), part_(Base::slots(window_)),
          first_(context.world.rank == 0), send_tag_(first_ ? kDataTag : kReverseTag),
          receive_tag_(first_ ? kReverseTag : kDataTag), sends_(static_cast<std::size_t>(window_)),
          receives_(static_cast<std::size_t>(window_)),
          statuses_(static_cast<std::size_t>(window_)) {}

    [[gnu::always_inline]] void exchange(char* receive) {
        for (int done = 0; done < window_; done += part_) {
            exchange_part(receive, std::min(part_, window_ - done));
        }
    }

  private:
    [[gnu::always_inline]] void exchange_part(char* receive, int messages) {
        const Message& message = this->message();
        for (int slot = 0; slot < messages; ++slot) {
            check(MPI_Irecv(this->incoming(receive, slot), message.count, message.datatype,
                            this->peer(), receive_tag_, MPI_COMM_WORLD, receives_.data() + slot),
                  "MPI_Irecv");
        }
        for (int slot = 0; slot < messages; ++slot) {
            check(MPI_Isend(this->outgoing(slot), message.count, message.datatype, this->peer(),
                            send_tag_, MPI_COMM_WORLD, sends_.data() + slot),
                  "MPI_Isend");
        }
        wait_all(messages, (first_ ? sends_ : receives_).data(), statuses_.data());
        wait_all(messages, (first_ ? receives_ : sends_).data(), statuses_.data());
        for (int slot = 0; slot < messages; ++slot) {
            this->arrived(receive, slot);
        }
    }

    int window_;
    int part_; ///< messages of the window that are in flight at once
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
    const Options& options = context.options;
    const Message message = make_message(options, size);
    const std::size_t largest = options.maximum_size;
    if (!buffers.send) {
        buffers.send = Buffer(options.buffer, largest, 'a', bench::PageBuffer::Touch::Later);
        buffers.receive = Buffer(options.buffer, largest, 'b', bench::PageBuffer::Touch::Later);
        if (options.validate) {
            buffers.scratch = Buffer(options.buffer, largest, 'c');
        }
        const bool windows = options.benchmark->metric != Metric::Latency;
        make_slots(context, Staged::room(largest, windows ? options.window : 1));
    }
    buffers.send.fill('a', message.bytes);
    buffers.receive.fill('b', message.bytes);
    return message;
}

// What a kernel measured, and the result without its value.
struct Measured {
    Timings timings;
    SizeResult result;
};

template <template <class Way> class Kernel, class... Arguments>
Measured run(Context& context, std::uint64_t size, Arguments... arguments) {
    const auto with = [&](auto&& kernel) {
        Measured found;
        found.timings = measure(context, kernel, size);
        found.result.size = size;
        found.result.iterations = found.timings.seconds.size();
        found.result.warmup = found.timings.warmup;
        found.result.valid = found.timings.valid;
        found.result.copied = kernel.copied();
        return found;
    };
    const Message message = prepare_buffers(context, size);
    if (context.options.path == Path::Staged) {
        return with(Kernel<Staged>(context, message, arguments...));
    }
    return with(Kernel<Direct>(context, message, arguments...));
}

template <class Way>
using OneWayKernel = WindowKernel<false, Way>;
template <class Way>
using PairsKernel = WindowKernel<true, Way>;

// The average is all data over all time; a percentile is one of a single window's bandwidth.
SizeResult bandwidth_result(const Measured& measured, double bytes_per_iteration,
                            double total_seconds) {
    SizeResult result = measured.result;
    const std::vector<double>& seconds = measured.timings.seconds;
    result.average = bytes_per_iteration * static_cast<double>(seconds.size()) / total_seconds;
    result.ascending = seconds;
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
    const Measured measured = run<LatencyKernel>(context, size);
    SizeResult result = measured.result;
    result.ascending = measured.timings.seconds;
    for (double& value : result.ascending) {
        value /= 2.0; // one way
    }
    result.average = bench::sum(result.ascending) / static_cast<double>(result.iterations);
    std::sort(result.ascending.begin(), result.ascending.end());
    return result;
}

SizeResult run_bw(Context& context, std::uint64_t size) {
    const Measured measured = run<OneWayKernel>(context, size, 1);
    return bandwidth_result(measured, window_bytes(context, size),
                            bench::sum(measured.timings.seconds));
}

SizeResult run_bibw(Context& context, std::uint64_t size) {
    const Measured measured = run<BidirectionalKernel>(context, size);
    return bandwidth_result(measured, 2.0 * window_bytes(context, size),
                            bench::sum(measured.timings.seconds));
}

SizeResult run_mbw_mr(Context& context, std::uint64_t size) {
    const int pairs = context.world.size / 2;
    const Measured measured = run<PairsKernel>(context, size, pairs);
    const double here = bench::sum(measured.timings.seconds); // 0 on receivers
    double of_senders = 0.0;
    check(MPI_Reduce(&here, &of_senders, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD), "MPI_Reduce");
    SizeResult result =
        bandwidth_result(measured, window_bytes(context, size) * pairs, of_senders / pairs);
    result.message_rate = result.average / static_cast<double>(size);
    return result;
}

} // namespace mpi_probe
