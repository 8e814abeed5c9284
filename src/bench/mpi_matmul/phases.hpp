// The phases of one repetition, between rank 0 and the others.
#pragma once

#include "mpi_matmul/options.hpp"
#include "mpi_matmul/place.hpp"
#include "mpi_matmul/shares.hpp"

#include <mpi.h>

#include <array>
#include <vector>

namespace mpi_matmul {

/// Order of the phases and of their total in every array and table.
enum Phase : std::size_t {
    kTransferA,
    kBroadcastB,
    kCopyIn,
    kCompute,
    kCopyOut,
    kTransferC,
    kTotal,
    kPhases
};

constexpr std::array<const char*, kPhases> kPhaseNames = {
    "transfer_a", "broadcast_b", "copy_in", "compute", "copy_out", "transfer_c", "total"};

/// The phases of a run: copies are some of a staged path only.
std::vector<Phase> phases_of(const Options& options);

using Seconds = std::array<double, kPhases>;

/// Moves rows of A and C and all of B, in one of three ways. What it needs is made beforehand, so
/// that nothing is allocated in a phase.
class Transfers {
  public:
    Transfers(Mode mode, std::uint64_t n, int rank, int ranks, std::uint64_t largest_count);
    ~Transfers();
    Transfers(const Transfers&) = delete;
    Transfers& operator=(const Transfers&) = delete;

    void transfer_a(const Matrices& matrices);
    void broadcast_b(const Matrices& matrices);
    void transfer_c(const Matrices& matrices);

    [[nodiscard]] const std::vector<Share>& all() const { return shares_; }
    [[nodiscard]] const Share& own() const { return shares_[static_cast<std::size_t>(rank_)]; }

  private:
    /// A part of B that one call broadcasts.
    struct Piece {
        std::uint64_t first; ///< element
        int count;
    };

    [[nodiscard]] double* rows_of(double* matrix, int rank) const;
    void send(double* matrix, int peer, int rows_of_rank);
    void receive(double* matrix, int peer, int rows_of_rank);
    void wait();

    Mode mode_;
    std::uint64_t n_;
    int rank_;
    std::vector<Share> shares_;
    MPI_Datatype unit_ = MPI_DOUBLE;
    int whole_; ///< count of a whole matrix
    std::vector<Piece> pieces_;
    std::vector<int> counts_;
    std::vector<int> offsets_;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
    int pending_ = 0;
};

/// One repetition: a barrier before each phase, the clock read right after it and at the phase's
/// end. The total runs from the first of these readings to the last. `inject` falsifies one element
/// of C on the last rank that has rows, between two phases.
Seconds repeat_once(Transfers& transfers, Place& place, const std::vector<Phase>& phases,
                    bool inject);

} // namespace mpi_matmul
