#include "mpi_probe/collectives.hpp"

#include "common/statistics.hpp"
#include "mpi_probe/measure.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace mpi_probe {

namespace {

constexpr int kRoot = 0;

// Where OSU has its untimed barrier in an iteration.
enum class Sync { None, Before, After };

// Whose data lies in which block of a buffer, for --validate.
struct Block {
    int source;
    int destination;
};

// What this rank sends and must receive. A sum replaces the blocks by SumPattern's data.
struct Layout {
    std::vector<Block> send;
    std::vector<Block> receive;
    bool sum = false;
    std::size_t sum_first = 0; ///< index of the first element of the sum that arrives here
    std::size_t sum_count = 0; ///< how many arrive here
    bool in_place = false;     ///< data is sent from the buffer where it is received: bcast
};

// `call(send, receive)` is the MPI collective; it is a template argument so that the timed part
// holds it and nothing else. `Way` is Direct or Staged.
template <Sync kSync, class Way, class Call>
class CollectiveKernel final : public Kernel {
  public:
    CollectiveKernel(Context& context, const Message& message, Layout layout, Call call)
        : call_(call), message_(message), layout_(std::move(layout)), rank_(context.world.rank),
          buffers_(context.buffers), way_(context.buffers, message.bytes),
          sums_(message.type, context.world.size),
          sent_bytes_(layout_.sum ? message.bytes : layout_.send.size() * message.bytes),
          received_bytes_(received() * element_size(message.type)) {}

    [[gnu::always_inline]] double iterate() {
        if constexpr (kSync == Sync::Before) {
            barrier();
        }
        const double start = MPI_Wtime();
        once(buffers_.receive.data());
        const double end = MPI_Wtime();
        if constexpr (kSync == Sync::After) {
            barrier();
        }
        return end - start;
    }

    void prepare(std::uint64_t iteration) override {
        fill_poison(buffers_.receive.image(), received(), message_.type);
        buffers_.receive.push(received_bytes_);
        Buffer& source = layout_.in_place ? buffers_.receive : buffers_.send;
        if (layout_.sum) {
            sums_.fill(source.image(), elements(), rank_, iteration);
        }
        char* target = source.image();
        for (const Block& block : layout_.send) {
            fill_pattern(target, elements(), message_.type,
                         {block.source, block.destination, iteration});
            target += message_.bytes;
        }
        source.push(sent_bytes_);
    }

    void rehearse(int rounds) override {
        for (int round = 0; round < rounds; ++round) {
            barrier();
            once(buffers_.scratch.data());
        }
        barrier();
    }

    [[nodiscard]] Mismatch verify(std::uint64_t iteration) const override {
        buffers_.receive.pull(received_bytes_);
        const char* const data = buffers_.receive.image();
        if (layout_.sum) {
            return sums_.check(data, layout_.sum_count, layout_.sum_first, iteration);
        }
        Mismatch mismatch;
        std::size_t first = 0;
        for (const Block& block : layout_.receive) {
            add_mismatches(mismatch,
                           check_pattern(data + first * element_size(message_.type), elements(),
                                         message_.type,
                                         {block.source, block.destination, iteration}, first));
            first += elements();
        }
        return mismatch;
    }

    [[nodiscard]] bool receives() const override { return received() > 0; }

    void corrupt() override {
        buffers_.receive.pull(received_bytes_);
        corrupt_element(buffers_.receive.image(), received() - 1, message_.type);
        buffers_.receive.push(received_bytes_);
    }

    [[nodiscard]] Copied copied() const { return way_.copied(); }

  private:
    // A broadcast has one buffer, from which its root sends: the others only receive into it.
    [[gnu::always_inline]] void once(char* receive) {
        char* const into = way_.incoming(receive, 0);
        if (layout_.in_place) {
            way_.outgoing_in_place(receive, sent_bytes_);
            call_(into, into);
        } else {
            call_(way_.outgoing(buffers_.send.data(), sent_bytes_, 0), into);
        }
        way_.arrived(receive, received_bytes_, 0);
    }

    [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(message_.count); }
    [[nodiscard]] std::size_t received() const {
        return layout_.sum ? layout_.sum_count : layout_.receive.size() * elements();
    }

    Call call_;
    Message message_;
    Layout layout_;
    int rank_;
    Buffers& buffers_;
    Way way_;
    SumPattern sums_;
    std::size_t sent_bytes_; ///< that this rank gives, and gets
    std::size_t received_bytes_;
};

struct Allocation {
    Buffer Buffers::*buffer;
    std::size_t blocks; ///< of the largest size
    int fill;
};

// Buffers at the first size, in OSU's order and with OSU's first contents.
void allocate(Context& context, std::initializer_list<Allocation> plan) {
    std::size_t most = 0;
    for (const Allocation& allocation : plan) {
        Buffer& buffer = context.buffers.*allocation.buffer;
        const std::size_t bytes = context.options.maximum_size * allocation.blocks;
        if (!buffer) {
            buffer = Buffer(context.options.buffer, bytes, allocation.fill);
        }
        most = std::max(most, bytes);
    }
    make_slots(context, most);
}

constexpr auto kSend = &Buffers::send;
constexpr auto kReceive = &Buffers::receive;
constexpr auto kScratch = &Buffers::scratch;

std::size_t ranks(const Context& context) {
    return static_cast<std::size_t>(context.world.size);
}

std::vector<Block> from_everyone(const Context& context) {
    std::vector<Block> blocks;
    blocks.reserve(ranks(context));
    for (int rank = 0; rank < context.world.size; ++rank) {
        blocks.push_back({rank, 0});
    }
    return blocks;
}

std::vector<Block> to_everyone(const Context& context) {
    std::vector<Block> blocks;
    blocks.reserve(ranks(context));
    for (int rank = 0; rank < context.world.size; ++rank) {
        blocks.push_back({context.world.rank, rank});
    }
    return blocks;
}

bool is_root(const Context& context) {
    return context.world.rank == kRoot;
}

// Average over iterations on each rank, then average, minimum and maximum of those over the ranks.
void reduce_averages(const Context& context, double average, SizeResult& result) {
    double total = 0.0;
    check(MPI_Reduce(&average, &result.rank_minimum, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD),
          "MPI_Reduce");
    check(MPI_Reduce(&average, &result.rank_maximum, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD),
          "MPI_Reduce");
    check(MPI_Reduce(&average, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD), "MPI_Reduce");
    result.average = total / context.world.size;
}

// Percentiles are those of each iteration's mean over the ranks, as OSU's.
void reduce_samples(const Context& context, const std::vector<double>& seconds,
                    SizeResult& result) {
    result.ascending.resize(seconds.size());
    check(MPI_Reduce(seconds.data(), result.ascending.data(), static_cast<int>(seconds.size()),
                     MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD),
          "MPI_Reduce");
    for (double& value : result.ascending) {
        value /= context.world.size;
    }
    std::sort(result.ascending.begin(), result.ascending.end());
}

template <Sync kSync, class Way, class Call>
SizeResult run_on(Context& context, std::uint64_t size, Layout layout, Call call) {
    CollectiveKernel<kSync, Way, Call> kernel(context, make_message(context.options, size),
                                              std::move(layout), call);
    const Timings timings = measure(context, kernel, size);
    SizeResult result;
    result.size = size;
    result.iterations = timings.seconds.size();
    result.warmup = timings.warmup;
    result.valid = timings.valid;
    result.copied = kernel.copied();
    const double average = bench::sum(timings.seconds) / static_cast<double>(result.iterations);
    reduce_averages(context, average, result);
    reduce_samples(context, timings.seconds, result);
    return result;
}

template <Sync kSync, class Call>
SizeResult run(Context& context, std::uint64_t size, Layout layout, Call call) {
    if (context.options.path == Path::Staged) {
        return run_on<kSync, Staged>(context, size, std::move(layout), call);
    }
    return run_on<kSync, Direct>(context, size, std::move(layout), call);
}

Layout sum_layout(std::size_t first, std::size_t count) {
    Layout layout;
    layout.sum = true;
    layout.sum_first = first;
    layout.sum_count = count;
    return layout;
}

} // namespace

SizeResult run_allreduce(Context& context, std::uint64_t size) {
    allocate(context, {{kSend, 1, 1}, {kReceive, 1, 0}, {kScratch, 1, 0}});
    const Message message = make_message(context.options, size);
    return run<Sync::After>(context, size, sum_layout(0, static_cast<std::size_t>(message.count)),
                            [message](const char* send, char* receive) {
                                check(MPI_Allreduce(send, receive, message.count, message.datatype,
                                                    MPI_SUM, MPI_COMM_WORLD),
                                      "MPI_Allreduce");
                            });
}

SizeResult run_reduce(Context& context, std::uint64_t size) {
    allocate(context, {{kReceive, 1, 1}, {kScratch, 1, 0}, {kSend, 1, 0}});
    const Message message = make_message(context.options, size);
    const std::size_t arriving = is_root(context) ? static_cast<std::size_t>(message.count) : 0;
    return run<Sync::Before>(context, size, sum_layout(0, arriving),
                             [message](const char* send, char* receive) {
                                 check(MPI_Reduce(send, receive, message.count, message.datatype,
                                                  MPI_SUM, kRoot, MPI_COMM_WORLD),
                                       "MPI_Reduce");
                             });
}

SizeResult run_bcast(Context& context, std::uint64_t size) {
    allocate(context, {{kReceive, 1, 1}});
    if (context.options.validate) {
        allocate(context, {{kScratch, 1, 0}});
    }
    const Message message = make_message(context.options, size);
    Layout layout;
    layout.in_place = true;
    (is_root(context) ? layout.send : layout.receive) = {{kRoot, 0}};
    return run<Sync::After>(
        context, size, std::move(layout), [message](const char* /*send*/, char* data) {
            check(MPI_Bcast(data, message.count, message.datatype, kRoot, MPI_COMM_WORLD),
                  "MPI_Bcast");
        });
}

SizeResult run_alltoall(Context& context, std::uint64_t size) {
    const std::size_t all = ranks(context);
    allocate(context, {{kSend, all, 1}, {kReceive, all, 0}, {kScratch, all, 0}});
    const Message message = make_message(context.options, size);
    Layout layout;
    layout.send = to_everyone(context);
    layout.receive = from_everyone(context);
    for (Block& block : layout.receive) {
        block.destination = context.world.rank;
    }
    return run<Sync::After>(context, size, std::move(layout),
                            [message](const char* send, char* receive) {
                                check(MPI_Alltoall(send, message.count, message.datatype, receive,
                                                   message.count, message.datatype, MPI_COMM_WORLD),
                                      "MPI_Alltoall");
                            });
}

SizeResult run_allgather(Context& context, std::uint64_t size) {
    const std::size_t all = ranks(context);
    allocate(context, {{kSend, 1, 1}, {kReceive, all, 0}});
    if (context.options.validate) {
        allocate(context, {{kScratch, all, 0}});
    }
    const Message message = make_message(context.options, size);
    Layout layout;
    layout.send = {{context.world.rank, 0}};
    layout.receive = from_everyone(context);
    return run<Sync::After>(
        context, size, std::move(layout), [message](const char* send, char* receive) {
            check(MPI_Allgather(send, message.count, message.datatype, receive, message.count,
                                message.datatype, MPI_COMM_WORLD),
                  "MPI_Allgather");
        });
}

SizeResult run_reduce_scatter(Context& context, std::uint64_t size) {
    allocate(context, {{kSend, 1, 1}, {kReceive, 1, 0}, {kScratch, 1, 0}});
    const Message message = make_message(context.options, size);
    // The elements are dealt out evenly; the first ranks take one more each where they must.
    std::vector<int> counts(ranks(context), message.count / context.world.size);
    std::fill_n(counts.begin(), message.count % context.world.size,
                message.count / context.world.size + 1);
    std::size_t first = 0;
    for (int rank = 0; rank < context.world.rank; ++rank) {
        first += static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]);
    }
    const int mine = counts[static_cast<std::size_t>(context.world.rank)];
    return run<Sync::After>(context, size, sum_layout(first, static_cast<std::size_t>(mine)),
                            [message, table = counts.data()](const char* send, char* receive) {
                                check(MPI_Reduce_scatter(send, receive, table, message.datatype,
                                                         MPI_SUM, MPI_COMM_WORLD),
                                      "MPI_Reduce_scatter");
                            });
}

SizeResult run_gather(Context& context, std::uint64_t size) {
    allocate(context, {{kReceive, ranks(context), 1}, {kSend, 1, 0}});
    if (context.options.validate) {
        allocate(context, {{kScratch, ranks(context), 0}});
    }
    const Message message = make_message(context.options, size);
    Layout layout;
    layout.send = {{context.world.rank, 0}};
    if (is_root(context)) {
        layout.receive = from_everyone(context);
    }
    return run<Sync::After>(
        context, size, std::move(layout), [message](const char* send, char* receive) {
            check(MPI_Gather(send, message.count, message.datatype, receive, message.count,
                             message.datatype, kRoot, MPI_COMM_WORLD),
                  "MPI_Gather");
        });
}

SizeResult run_scatter(Context& context, std::uint64_t size) {
    const std::size_t all = ranks(context);
    allocate(context, {{kSend, all, 1}, {kReceive, all, 0}, {kScratch, 1, 0}});
    const Message message = make_message(context.options, size);
    Layout layout;
    if (is_root(context)) {
        layout.send = to_everyone(context);
    }
    layout.receive = {{kRoot, context.world.rank}};
    return run<Sync::After>(
        context, size, std::move(layout), [message](const char* send, char* receive) {
            check(MPI_Scatter(send, message.count, message.datatype, receive, message.count,
                              message.datatype, kRoot, MPI_COMM_WORLD),
                  "MPI_Scatter");
        });
}

SizeResult run_barrier(Context& context, std::uint64_t size) {
    return run<Sync::None>(context, size, Layout{}, [](const char*, char*) { barrier(); });
}

} // namespace mpi_probe
