#include "nccl_probe/measure.hpp"

#include "mpi_probe/patterns.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

namespace nccl_probe {

namespace {

using bench::check;
using mpi_probe::ElementType;
using mpi_probe::Mismatch;

/// However small the budget: fewer samples say nothing about a spread.
constexpr std::uint64_t kFewestSamples = 3;

constexpr ElementType kType = ElementType::Float;

void barrier() {
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

} // namespace

Measurement::Measurement(const bench::World& world, const Options& options, const Nccl& nccl,
                         const bench::gpu::NcclSession& session)
    : world_(world), options_(options), nccl_(nccl), session_(session) {
    const std::size_t block = options.counts(world.size).back() * sizeof(float);
    send_ = Buffer(bench::gpu::Memory::Device, block * sent(), 0);
    receive_ = Buffer(bench::gpu::Memory::Device, block * received(), 0);
}

std::size_t Measurement::sent() const {
    return options_.collective->sends_all ? static_cast<std::size_t>(world_.size) : 1;
}

std::size_t Measurement::received() const {
    return options_.collective->receives_all ? static_cast<std::size_t>(world_.size) : 1;
}

void Measurement::prepare(std::size_t count) {
    if (!options_.validate) {
        return;
    }
    if (options_.collective->sums) {
        const mpi_probe::SumPattern sums(kType, world_.size);
        sums.fill(send_.image(), count * sent(), world_.rank, options_.seed);
    } else {
        for (std::size_t block = 0; block < sent(); ++block) {
            mpi_probe::fill_pattern(send_.image() + block * count * sizeof(float), count, kType,
                                    {world_.rank, static_cast<int>(block), options_.seed});
        }
    }
    send_.push(count * sent() * sizeof(float));
    mpi_probe::fill_poison(receive_.image(), count * received(), kType);
    receive_.push(count * received() * sizeof(float));
}

void Measurement::iterate(const Call& call) const {
    constexpr double kForward = 1.0 / 3;
    const auto begin = std::chrono::steady_clock::now();
    const auto compute_until = [&](double share) {
        if (options_.compute > 0) {
            std::this_thread::sleep_until(begin +
                                          share * std::chrono::milliseconds(options_.compute));
        }
    };
    std::size_t made = 0;
    for (const std::uint64_t bytes : options_.buckets) {
        const std::size_t begun = made * sizeof(float);
        const std::size_t count = bytes / sizeof(float);
        made += count;
        compute_until(kForward +
                      (1 - kForward) * static_cast<double>(made) / static_cast<double>(call.count));
        session_.check(
            options_.collective->run({call.nccl, call.communicator, call.stream, call.ranks,
                                      call.send + begun, call.receive + begun, count}));
    }
    session_.wait();
    compute_until(1);
}

double Measurement::sample(const Call& call) const {
    barrier();
    const double start = MPI_Wtime();
    for (std::uint64_t done = 0; done < options_.batch; ++done) {
        if (options_.buckets.empty()) {
            session_.check(options_.collective->run(call));
        } else {
            iterate(call);
        }
    }
    session_.wait();
    return (MPI_Wtime() - start) / static_cast<double>(options_.batch);
}

// Rank 0's clock decides for all ranks.
std::uint64_t Measurement::fitting(double each) const {
    check(MPI_Bcast(&each, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    const double fit = *options_.time_budget / (each * static_cast<double>(options_.batch));
    if (!(fit < static_cast<double>(options_.iterations))) {
        return options_.iterations;
    }
    return std::min(std::max(static_cast<std::uint64_t>(fit), kFewestSamples), options_.iterations);
}

bool Measurement::is_right(std::size_t count, std::uint64_t size) {
    const Collective& collective = *options_.collective;
    receive_.pull(count * received() * sizeof(float));
    if (options_.inject_error && world_.rank == kRoot) {
        mpi_probe::corrupt_element(receive_.image(), count * received() - 1, kType);
    }
    Mismatch found;
    if (collective.sums && (world_.rank == kRoot || !collective.to_root)) {
        const auto rank = static_cast<std::size_t>(world_.rank);
        const mpi_probe::SumPattern sums(kType, world_.size);
        found = sums.check(receive_.image(), count, collective.sends_all ? rank * count : 0,
                           options_.seed);
    } else if (!collective.sums) {
        for (std::size_t block = 0; block < received(); ++block) {
            const int source = collective.receives_all ? static_cast<int>(block) : kRoot;
            const int destination = collective.sends_all ? world_.rank : 0;
            mpi_probe::add_mismatches(
                found, mpi_probe::check_pattern(receive_.image() + block * count * sizeof(float),
                                                count, kType, {source, destination, options_.seed},
                                                block * count));
        }
    }
    const int candidate = found.count > 0 ? world_.rank : world_.size;
    int witness = world_.size;
    check(MPI_Allreduce(&candidate, &witness, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD),
          "MPI_Allreduce");
    if (witness == world_.rank) {
        (void)std::fprintf(stderr,
                           "nccl_probe: wrong data at %llu bytes: rank %d, element %zu: expected "
                           "%g, found %g; %llu wrong elements in all on this rank\n",
                           static_cast<unsigned long long>(size), world_.rank, found.index,
                           found.expected, found.found,
                           static_cast<unsigned long long>(found.count));
    }
    return witness == world_.size;
}

Result Measurement::measure(std::size_t count) {
    session_.set_time_limit();
    Result result;
    result.size = size_of(*options_.collective, count, world_.size);
    result.warmup = options_.warmup;
    prepare(count);
    const Call call = {nccl_,
                       session_.communicator(),
                       session_.stream(),
                       world_.size,
                       send_.data(),
                       receive_.data(),
                       count};
    double last = 0.0;
    for (std::uint64_t done = 0; done < options_.warmup; ++done) {
        last = sample(call);
    }
    const bool budget = options_.time_budget && options_.warmup > 0;
    std::vector<double> own(budget ? fitting(last) : options_.iterations);
    for (double& seconds : own) {
        session_.set_time_limit();
        seconds = sample(call);
    }
    result.ascending.resize(own.size());
    check(MPI_Reduce(own.data(), result.ascending.data(), static_cast<int>(own.size()), MPI_DOUBLE,
                     MPI_MAX, 0, MPI_COMM_WORLD),
          "MPI_Reduce");
    std::sort(result.ascending.begin(), result.ascending.end());
    if (options_.validate) {
        result.valid = is_right(count, result.size);
    }
    return result;
}

} // namespace nccl_probe
