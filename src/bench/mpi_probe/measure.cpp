#include "mpi_probe/measure.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace mpi_probe {

namespace {

MPI_Datatype mpi_datatype(ElementType type) {
    switch (type) {
    case ElementType::Int:
        return MPI_INT;
    case ElementType::Float:
        return MPI_FLOAT;
    case ElementType::Char:
        break;
    }
    return MPI_CHAR;
}

} // namespace

Message make_message(const Options& options, std::uint64_t size) {
    // parse_options refuses sizes above INT_MAX bytes, so the count fits.
    return {static_cast<int>(size / element_size(options.type)), options.type,
            mpi_datatype(options.type), static_cast<std::size_t>(size)};
}

void make_slots(Context& context, std::size_t bytes) {
    Buffers& buffers = context.buffers;
    if (context.options.path == Path::Staged && !buffers.outgoing) {
        buffers.outgoing = Buffer(Memory::Pinned, bytes, 0);
        buffers.incoming = Buffer(Memory::Pinned, bytes, 0);
    }
}

void barrier() {
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

Validator::Validator(const Context& context, Kernel& kernel) : context_(context), kernel_(kernel) {
    const int candidate = kernel.receives() ? context.world.rank : -1;
    int victim = -1;
    check(MPI_Allreduce(&candidate, &victim, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
    inject_here_ = context.options.inject_error && victim == context.world.rank;
}

void Validator::before(std::uint64_t iteration, int rehearsals) {
    kernel_.prepare(iteration + context_.options.seed);
    kernel_.rehearse(rehearsals);
}

void Validator::after(std::uint64_t iteration) {
    if (inject_here_ && iteration == 0) {
        kernel_.corrupt();
    }
    if (!kernel_.receives()) {
        return;
    }
    const Mismatch found = kernel_.verify(iteration + context_.options.seed);
    if (found.count > 0 && mismatch_.count == 0) {
        first_bad_iteration_ = iteration;
    }
    add_mismatches(mismatch_, found);
}

bool Validator::passed(std::uint64_t size) const {
    const World& world = context_.world;
    const int candidate = mismatch_.count > 0 ? world.rank : world.size;
    int witness = world.size;
    check(MPI_Allreduce(&candidate, &witness, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD),
          "MPI_Allreduce");
    if (witness == world.rank) {
        (void)std::fprintf(stderr,
                           "mpi_probe: wrong data at %llu bytes: rank %d, iteration %llu (warm-up "
                           "included), element %zu: expected %g, found %g; %llu wrong elements in "
                           "all on this rank\n",
                           static_cast<unsigned long long>(size), world.rank,
                           static_cast<unsigned long long>(first_bad_iteration_), mismatch_.index,
                           mismatch_.expected, mismatch_.found,
                           static_cast<unsigned long long>(mismatch_.count));
    }
    return witness == world.size;
}

std::uint64_t Calibration::next_block() const {
    if (done_ < 2) {
        return 1;
    }
    if (done_ >= rounds_.warmup || elapsed_ >= budget_ / 4) {
        return 0;
    }
    return std::min(done_, rounds_.warmup - done_);
}

void Calibration::finish_block(std::uint64_t block, double seconds) {
    check(MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    bare_ = seconds / static_cast<double>(block) / (1 + rehearsals());
    if (done_ > 0) {
        settled_ += block;
        elapsed_ += seconds;
    }
    done_ += block;
}

std::uint64_t Calibration::iterations() const {
    const double each = elapsed_ / static_cast<double>(settled_);
    const double fitting = (budget_ - elapsed_) / each;
    if (!(fitting < static_cast<double>(rounds_.iterations))) {
        return rounds_.iterations;
    }
    const auto whole = static_cast<std::uint64_t>(std::max(fitting, 0.0));
    return std::min(std::max(whole, fewest_), rounds_.iterations);
}

int Calibration::rehearsals() const {
    const bool long_messages = bare_ * static_cast<double>(fewest_) > budget_;
    return done_ == 0 || long_messages ? 0 : kRehearsals;
}

} // namespace mpi_probe
