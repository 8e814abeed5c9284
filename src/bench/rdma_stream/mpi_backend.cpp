// Messages of MPI: as many sends and receives posted at a time as there are slots.
#include "common/buffer.hpp"
#include "common/world.hpp"
#include "rdma_stream/backends.hpp"

#include <algorithm>

namespace rdma_stream {

namespace {

using bench::check;

constexpr int kTag = 1;

// A ring of requests, each for one slot; they end in their order.
struct Ring {
    explicit Ring(const Options& options)
        : memory(std::size_t{options.slots()} * options.message_size, 0),
          requests(options.slots(), MPI_REQUEST_NULL), stride(options.message_size) {}

    [[nodiscard]] std::uint32_t slot_of(std::uint64_t turn) const {
        return static_cast<std::uint32_t>(turn % requests.size());
    }
    [[nodiscard]] unsigned char* message(std::uint64_t turn) const {
        return reinterpret_cast<unsigned char*>(memory.data()) +
               std::size_t{slot_of(turn)} * stride;
    }
    /// Whether the oldest request, that of `turn`, is over.
    bool is_done(std::uint64_t turn) {
        int done = 0;
        check(MPI_Test(&requests[slot_of(turn)], &done, MPI_STATUS_IGNORE), "MPI_Test");
        return done != 0;
    }

    bench::PageBuffer memory;
    std::vector<MPI_Request> requests;
    std::uint32_t stride;
};

class MpiSender : public Sender {
  public:
    MpiSender(const Options& options, int peer) : ring_(options), peer_(peer) {}

    // What never left may still be read by MPI, so it stays until the process ends.
    ~MpiSender() override {
        static std::vector<Ring> kept;
        if (reaped_ < posted_) {
            kept.push_back(std::move(ring_));
        }
    }

    [[nodiscard]] Blob address() const override { return {}; }
    void connect(const Blob& /*peer*/) override {}

    unsigned char* content(std::uint64_t turn) override {
        return ring_.message(turn) + content_offset(Method::Mpi);
    }

    void post(std::uint64_t turn, const std::uint32_t* numbers, std::uint32_t count) override {
        for (std::uint32_t index = 0; index < count; ++index) {
            unsigned char* const message = ring_.message(turn + index);
            write_header(message, 0, numbers[index]);
            check(MPI_Isend(message, static_cast<int>(ring_.stride), MPI_BYTE, peer_, kTag,
                            MPI_COMM_WORLD, &ring_.requests[ring_.slot_of(turn + index)]),
                  "MPI_Isend");
        }
        posted_ = turn + count;
    }

    std::uint32_t reap() override {
        std::uint32_t freed = 0;
        while (reaped_ < posted_ && ring_.is_done(reaped_)) {
            ++reaped_;
            ++freed;
        }
        return freed;
    }

    void wait(std::chrono::microseconds /*longest*/) override {}

  private:
    Ring ring_;
    int peer_;
    std::uint64_t posted_ = 0;
    std::uint64_t reaped_ = 0;
};

class MpiReceiver : public Receiver {
  public:
    MpiReceiver(const Options& options, std::uint32_t streams, int first, int step)
        : options_(options), first_(first), step_(step) {
        for (std::uint32_t stream = 0; stream < streams; ++stream) {
            rings_.push_back({Ring(options), 0});
        }
    }

    // What was posted and never came, as messages were left out, has to be taken back.
    ~MpiReceiver() override {
        for (Incoming& incoming : rings_) {
            for (MPI_Request& request : incoming.ring.requests) {
                if (request != MPI_REQUEST_NULL) {
                    check(MPI_Cancel(&request), "MPI_Cancel");
                    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
                }
            }
        }
    }

    [[nodiscard]] Blob address(std::uint32_t /*stream*/) const override { return {}; }

    void connect(std::uint32_t stream, const Blob& /*peer*/) override {
        for (std::uint32_t slot = 0; slot < options_.slots(); ++slot) {
            post(stream, slot);
        }
    }

    std::uint32_t take(Arrival* arrivals, std::uint32_t room) override {
        std::uint32_t count = 0;
        for (std::uint32_t stream = 0; stream < rings_.size(); ++stream) {
            // Each stream gets its share of the room, or the first one would starve the others.
            const std::uint32_t share = (room - count) / (rings_.size() - stream);
            count += take_from(stream, arrivals + count, share);
        }
        return count;
    }

    void release(const Arrival* arrivals, std::uint32_t count) override {
        for (std::uint32_t index = 0; index < count; ++index) {
            post(arrivals[index].stream, arrivals[index].slot);
        }
    }

    void wait(std::chrono::microseconds /*longest*/) override {}

  private:
    struct Incoming {
        Ring ring;
        std::uint64_t taken;
    };

    std::uint32_t take_from(std::uint32_t stream, Arrival* arrivals, std::uint32_t room) {
        auto& [ring, taken] = rings_[stream];
        std::uint32_t count = 0;
        // A slot that is taken and not yet released has no request, which MPI calls done.
        while (count < std::min(room, options_.slots()) && ring.is_done(taken)) {
            const unsigned char* const message = ring.message(taken);
            arrivals[count++] = {stream, ring.slot_of(taken), read_header(message).number,
                                 message + content_offset(Method::Mpi)};
            ++taken;
        }
        return count;
    }

    void post(std::uint32_t stream, std::uint32_t slot) {
        Ring& ring = rings_[stream].ring;
        const int source = first_ + static_cast<int>(stream) * step_;
        check(MPI_Irecv(ring.message(slot), static_cast<int>(ring.stride), MPI_BYTE, source, kTag,
                        MPI_COMM_WORLD, &ring.requests[slot]),
              "MPI_Irecv");
    }

    const Options& options_;
    int first_;
    int step_;
    std::vector<Incoming> rings_;
};

} // namespace

std::unique_ptr<Sender> mpi_sender(const Options& options, int peer) {
    return std::make_unique<MpiSender>(options, peer);
}

std::unique_ptr<Receiver> mpi_receiver(const Options& options, std::uint32_t streams, int first,
                                       int step) {
    return std::make_unique<MpiReceiver>(options, streams, first, step);
}

} // namespace rdma_stream
