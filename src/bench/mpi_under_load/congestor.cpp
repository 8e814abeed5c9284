#include "mpi_under_load/congestor.hpp"

#include "common/buffer.hpp"
#include "common/world.hpp"

#include <array>
#include <chrono>
#include <thread>
#include <vector>

namespace mpi_under_load {

namespace {

using bench::check;

constexpr int kCommand = 1;
constexpr int kFlows = 2;
constexpr int kCarried = 3;
constexpr int kStream = 4;

constexpr int kMessage = 64 * 1024;
constexpr int kWindow = 8; ///< messages that a sender has under way
constexpr auto kNap = std::chrono::milliseconds(1);

void tell(Command command) {
    const int word = static_cast<int>(command);
    check(MPI_Send(&word, 1, MPI_INT, kLoader, kCommand, MPI_COMM_WORLD), "MPI_Send");
}

// The next command, without taking a core from those who measure.
Command listen(MPI_Comm loaders, bool is_leader) {
    int word = 0;
    if (is_leader) {
        int arrived = 0;
        while (arrived == 0) {
            check(MPI_Iprobe(kMeasurer, kCommand, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE),
                  "MPI_Iprobe");
            if (arrived == 0) {
                std::this_thread::sleep_for(kNap);
            }
        }
        check(MPI_Recv(&word, 1, MPI_INT, kMeasurer, kCommand, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
    }
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(&word, 1, MPI_INT, 0, loaders, &request), "MPI_Ibcast");
    int done = 0;
    while (done == 0) {
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done == 0) {
            std::this_thread::sleep_for(kNap);
        }
    }
    return static_cast<Command>(word);
}

// Whether the leader was told to rest, known to all.
bool is_over(MPI_Comm loaders, bool is_leader) {
    int over = 0;
    if (is_leader) {
        check(MPI_Iprobe(kMeasurer, kCommand, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE),
              "MPI_Iprobe");
    }
    check(MPI_Bcast(&over, 1, MPI_INT, 0, loaders), "MPI_Bcast");
    return over != 0;
}

class Incast {
  public:
    explicit Incast(MPI_Comm loaders) : loaders_(loaders) {
        check(MPI_Comm_rank(loaders, &rank_), "MPI_Comm_rank");
        check(MPI_Comm_size(loaders, &size_), "MPI_Comm_size");
        const auto most = static_cast<std::size_t>(kWindow) * static_cast<std::size_t>(size_ - 1);
        buffer_ = bench::PageBuffer(most * kMessage, 1);
        requests_.resize(most);
        statuses_.resize(most);
    }

    [[nodiscard]] bool is_leader() const { return rank_ == 0; }

    // Everybody sends a window of messages to one; the next round, to the next one.
    void round() {
        const int sink = rounds_++ % size_;
        int count = 0;
        for (int peer = 0; peer < size_; ++peer) {
            const bool receives = rank_ == sink && peer != sink;
            const bool sends = rank_ != sink && peer == sink;
            for (int message = 0; message < kWindow && (receives || sends); ++message) {
                char* data = buffer_.data() + static_cast<std::size_t>(count) * kMessage;
                MPI_Request* request = &requests_[static_cast<std::size_t>(count++)];
                if (receives) {
                    check(MPI_Irecv(data, kMessage, MPI_CHAR, peer, kStream, loaders_, request),
                          "MPI_Irecv");
                } else {
                    check(MPI_Isend(data, kMessage, MPI_CHAR, peer, kStream, loaders_, request),
                          "MPI_Isend");
                }
            }
        }
        bench::wait_all(count, requests_.data(), statuses_.data());
    }

    // Until the leader is told to rest; what all carried, on the leader.
    Carried run() {
        round();
        if (is_leader()) {
            check(MPI_Send(nullptr, 0, MPI_CHAR, kMeasurer, kFlows, MPI_COMM_WORLD), "MPI_Send");
        }
        const double start = MPI_Wtime();
        double rounds = 0;
        while (!is_over(loaders_, is_leader())) {
            round();
            ++rounds;
        }
        check(MPI_Barrier(loaders_), "MPI_Barrier");
        return {rounds * kMessage * kWindow * (size_ - 1), MPI_Wtime() - start};
    }

  private:
    MPI_Comm loaders_;
    int rank_ = 0;
    int size_ = 1;
    int rounds_ = 0;
    bench::PageBuffer buffer_;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
};

} // namespace

void begin_load() {
    tell(Command::Load);
    check(MPI_Recv(nullptr, 0, MPI_CHAR, kLoader, kFlows, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          "MPI_Recv");
}

Carried end_load() {
    tell(Command::Rest);
    std::array<double, 2> told{};
    check(
        MPI_Recv(told.data(), 2, MPI_DOUBLE, kLoader, kCarried, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        "MPI_Recv");
    return {told[0], told[1]};
}

void release_loaders() {
    tell(Command::End);
}

void load_when_told(MPI_Comm loaders) {
    Incast incast(loaders);
    for (;;) {
        switch (listen(loaders, incast.is_leader())) {
        case Command::Load: {
            const Carried carried = incast.run();
            (void)listen(loaders, incast.is_leader()); // the rest that ended it
            if (incast.is_leader()) {
                const std::array<double, 2> told{carried.bytes, carried.seconds};
                check(MPI_Send(told.data(), 2, MPI_DOUBLE, kMeasurer, kCarried, MPI_COMM_WORLD),
                      "MPI_Send");
            }
            break;
        }
        case Command::Rest:
            break;
        case Command::End:
            return;
        }
    }
}

} // namespace mpi_under_load
