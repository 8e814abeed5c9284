#include "mpi_matmul/phases.hpp"

#include "common/world.hpp"

#include <algorithm>

namespace mpi_matmul {

namespace {

using bench::check;
using bench::wait_all;

constexpr int kRoot = 0;
constexpr int kTag = 1;

void barrier() {
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

void run(Phase phase, Transfers& transfers, Place& place, const Matrices& matrices) {
    switch (phase) {
    case kTransferA:
        return transfers.transfer_a(matrices);
    case kBroadcastB:
        return transfers.broadcast_b(matrices);
    case kCopyIn:
        return place.copy_in();
    case kCompute:
        return place.multiply();
    case kCopyOut:
        return place.copy_out();
    case kTransferC:
        return transfers.transfer_c(matrices);
    case kTotal:
    case kPhases:
        break;
    }
}

} // namespace

Transfers::Transfers(Mode mode, std::uint64_t n, int rank, int ranks, std::uint64_t largest_count)
    : mode_(mode), n_(n), rank_(rank), shares_(shares(n, ranks)) {
    const Counting count = counting(n, largest_count);
    if (count.in_rows) {
        check(MPI_Type_contiguous(static_cast<int>(n), MPI_DOUBLE, &unit_), "MPI_Type_contiguous");
        check(MPI_Type_commit(&unit_), "MPI_Type_commit");
    }
    whole_ = count.of(n, n);
    for (const Share& share : shares_) {
        counts_.push_back(count.of(share.rows, n));
        offsets_.push_back(count.of(share.first, n));
    }
    for (const Share& piece : pieces(n, largest_count)) {
        pieces_.push_back({piece.first * n, count.of(piece.rows, n)});
    }
    requests_.resize(std::max(shares_.size(), pieces_.size()));
    statuses_.resize(requests_.size());
}

Transfers::~Transfers() {
    if (unit_ != MPI_DOUBLE) {
        (void)MPI_Type_free(&unit_);
    }
}

double* Transfers::rows_of(double* matrix, int rank) const {
    const std::uint64_t first = rank_ == kRoot ? shares_[static_cast<std::size_t>(rank)].first : 0;
    return matrix + first * n_;
}

void Transfers::send(double* matrix, int peer, int rows_of_rank) {
    const int count = counts_[static_cast<std::size_t>(rows_of_rank)];
    double* const rows = rows_of(matrix, rows_of_rank);
    if (mode_ == Mode::Blocking) {
        check(MPI_Send(rows, count, unit_, peer, kTag, MPI_COMM_WORLD), "MPI_Send");
        return;
    }
    check(MPI_Isend(rows, count, unit_, peer, kTag, MPI_COMM_WORLD,
                    &requests_[static_cast<std::size_t>(pending_++)]),
          "MPI_Isend");
}

void Transfers::receive(double* matrix, int peer, int rows_of_rank) {
    const int count = counts_[static_cast<std::size_t>(rows_of_rank)];
    double* const rows = rows_of(matrix, rows_of_rank);
    if (mode_ == Mode::Blocking) {
        check(MPI_Recv(rows, count, unit_, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
        return;
    }
    check(MPI_Irecv(rows, count, unit_, peer, kTag, MPI_COMM_WORLD,
                    &requests_[static_cast<std::size_t>(pending_++)]),
          "MPI_Irecv");
}

void Transfers::wait() {
    if (pending_ == 0) {
        return; // blocking: nothing is under way
    }
    wait_all(pending_, requests_.data(), statuses_.data());
    pending_ = 0;
}

void Transfers::transfer_a(const Matrices& matrices) {
    if (mode_ == Mode::Collective) {
        void* const rows = rank_ == kRoot ? MPI_IN_PLACE : matrices.a;
        check(MPI_Scatterv(matrices.a, counts_.data(), offsets_.data(), unit_, rows,
                           counts_[static_cast<std::size_t>(rank_)], unit_, kRoot, MPI_COMM_WORLD),
              "MPI_Scatterv");
        return;
    }
    if (rank_ == kRoot) {
        for (int peer = 1; peer < static_cast<int>(shares_.size()); ++peer) {
            send(matrices.a, peer, peer);
        }
    } else {
        receive(matrices.a, kRoot, rank_);
    }
    wait();
}

void Transfers::broadcast_b(const Matrices& matrices) {
    if (mode_ != Mode::Nonblocking) {
        check(MPI_Bcast(matrices.b, whole_, unit_, kRoot, MPI_COMM_WORLD), "MPI_Bcast");
        return;
    }
    for (const Piece& piece : pieces_) {
        check(MPI_Ibcast(matrices.b + piece.first, piece.count, unit_, kRoot, MPI_COMM_WORLD,
                         &requests_[static_cast<std::size_t>(pending_++)]),
              "MPI_Ibcast");
    }
    wait();
}

void Transfers::transfer_c(const Matrices& matrices) {
    if (mode_ == Mode::Collective) {
        const void* const rows = rank_ == kRoot ? MPI_IN_PLACE : matrices.c;
        check(MPI_Gatherv(rows, counts_[static_cast<std::size_t>(rank_)], unit_, matrices.c,
                          counts_.data(), offsets_.data(), unit_, kRoot, MPI_COMM_WORLD),
              "MPI_Gatherv");
        return;
    }
    if (rank_ == kRoot) {
        for (int peer = 1; peer < static_cast<int>(shares_.size()); ++peer) {
            receive(matrices.c, peer, peer);
        }
    } else {
        send(matrices.c, kRoot, rank_);
    }
    wait();
}

std::vector<Phase> phases_of(const Options& options) {
    if (options.compute == Compute::Gpu && options.path == Path::Staged) {
        return {kTransferA, kBroadcastB, kCopyIn, kCompute, kCopyOut, kTransferC, kTotal};
    }
    return {kTransferA, kBroadcastB, kCompute, kTransferC, kTotal};
}

Seconds repeat_once(Transfers& transfers, Place& place, const std::vector<Phase>& phases,
                    bool inject) {
    Seconds seconds{};
    const Matrices matrices = place.matrices();
    double begin = 0.0;
    for (const Phase phase : phases) {
        if (phase == kTotal) {
            break;
        }
        if (phase == kTransferC && inject) {
            place.falsify();
        }
        barrier();
        const double start = MPI_Wtime();
        run(phase, transfers, place, matrices);
        const double end = MPI_Wtime();
        begin = phase == kTransferA ? start : begin;
        seconds[phase] = end - start;
        seconds[kTotal] = end - begin;
    }
    return seconds;
}

} // namespace mpi_matmul
