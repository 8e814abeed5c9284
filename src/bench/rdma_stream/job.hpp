// The job's side of a stream: who this rank is, how sides find each other, and how results come
// together.
#pragma once

#include "common/world.hpp"
#include "rdma_stream/figures.hpp"
#include "rdma_stream/stream.hpp"

#include <memory>
#include <vector>

namespace rdma_stream {

/// What this rank does: ranks below --nrx receive, transmitter t sends to receiver t mod --nrx.
class Role {
  public:
    Role(const Options& options, int rank) : options_(options), rank_(rank) {}

    [[nodiscard]] bool receives() const { return rank_ < options_.receivers; }
    /// Streams that come here.
    [[nodiscard]] std::uint32_t streams() const {
        return static_cast<std::uint32_t>((options_.transmitters - rank_ + options_.receivers - 1) /
                                          options_.receivers);
    }
    /// The rank that sends the stream of that number here.
    [[nodiscard]] int transmitter_of(std::uint32_t stream) const {
        return options_.receivers + rank_ + static_cast<int>(stream) * options_.receivers;
    }
    /// The rank that this one sends to.
    [[nodiscard]] int receiver() const { return (rank_ - options_.receivers) % options_.receivers; }

  private:
    const Options& options_;
    int rank_;
};

/// Tells the receiver how many numbers the transmitter has used up.
void tell_end(int receiver, const Sent& sent);

/// What tell_end said, one message for each stream.
class MpiEnds : public Ends {
  public:
    MpiEnds(const Role& role, std::uint32_t streams);
    std::optional<std::uint64_t> sent(std::uint32_t stream) override;

    /// After the loop: tells each transmitter whether its stream was given up, and hears the ends
    /// that are not told yet. Ends the job if there is none within `seconds`.
    void close(const std::vector<Received>& streams, double seconds);

  private:
    struct Word {
        int transmitter = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        std::uint64_t numbers = 0;
        MPI_Request told = MPI_REQUEST_NULL;
        int gave_up = 0;
    };
    std::vector<Word> words_;
};

/// The transmitter's side of `close`.
class ReceiverWord {
  public:
    explicit ReceiverWord(int receiver);
    /// Whether the receiver has given this stream up. Does not wait.
    bool gave_up();
    /// Once all ranks are through their streams.
    void finish();

  private:
    MPI_Request request_ = MPI_REQUEST_NULL;
    int gave_up_ = 0;
};

/// The ends of all streams of this rank, connected; collective. Throws UsageError on all ranks if
/// one of them cannot have its end.
std::unique_ptr<Sender> connected_sender(const bench::World& world, const Options& options,
                                         const Role& role);
std::unique_ptr<Receiver> connected_receiver(const bench::World& world, const Options& options,
                                             const Role& role);

/// All streams on rank 0, from this rank's sides; collective.
std::vector<Stream> gather_streams(const bench::World& world, const Options& options,
                                   const std::vector<Side>& sides);

} // namespace rdma_stream
