#include "pair_probe/measure.hpp"

#include "common/last_words.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace pair_probe {

namespace {

using bench::check;
using mpi_probe::ElementType;

constexpr int kPing = 1;
constexpr int kWindow = 2;
constexpr int kData = 3;
constexpr int kTaken = 4;

constexpr int kMostMessages = 16; ///< of a window
constexpr std::size_t kMostSamples = 1 << 16;
constexpr int kWarmUp = 10; ///< round trips: the first ones connect
constexpr double kShareOfLatency = 0.2;
constexpr double kShareOfWindow = 1.0 / 16; ///< of a direction's time, at least
constexpr double kGrace = 60.0;             ///< seconds after which a round hangs

constexpr std::size_t kElements = kMessage / sizeof(int);
constexpr std::uint64_t kNcclLimit = 30; ///< seconds of NCCL's start, and of a window

bench::gpu::Memory memory_of(const ByNccl* nccl) {
    return nccl == nullptr ? bench::gpu::Memory::Host : bench::gpu::Memory::Device;
}

} // namespace

ByNccl::ByNccl(const bench::World& world)
    : device_(bench::gpu::open_for_rank(world, std::nullopt, bench::gpu::Memory::Device)),
      nccl_(bench::gpu::load_nccl(world)),
      session_(world, "pair_probe", "pairs", kNcclLimit, *nccl_) {}

void ByNccl::exchange(bool sends, char* data, std::size_t bytes, int messages, int partner) const {
    const std::size_t count = bytes / sizeof(float);
    session_.set_time_limit();
    session_.check(nccl_->group_start());
    for (int message = 0; message < messages; ++message) {
        session_.check(sends ? nccl_->send(data, count, bench::gpu::Nccl::kFloat, partner,
                                           session_.communicator(), session_.stream())
                             : nccl_->receive(data + static_cast<std::size_t>(message) * bytes,
                                              count, bench::gpu::Nccl::kFloat, partner,
                                              session_.communicator(), session_.stream()));
    }
    session_.check(nccl_->group_end());
    session_.wait();
    bench::stay();
}

void ByNccl::add_facts(bench::Report& report, const bench::World& world) const {
    bench::gpu::add_facts(report, world, device_);
    report.fact("nccl", nccl_->version_text(), "NCCL");
}

Pairs::Pairs(const bench::World& world, const Options& options, const ByNccl* nccl)
    : world_(world), options_(options), nccl_(nccl), source_(memory_of(nccl), kMessage, 1),
      target_(memory_of(nccl), kMostMessages * kMessage, 0), requests_(kMostMessages),
      statuses_(kMostMessages) {
    samples_.reserve(kMostSamples);
}

Measured Pairs::round(int partner, bool first, std::uint64_t number) {
    Measured found;
    const double latency = kShareOfLatency * options_.seconds;
    const double direction = (options_.seconds - latency) / 2;
    const std::string where = " of round " + std::to_string(number);
    prepare(partner, number);
    bench::meet(world_, "the latency" + where, kGrace);
    if (partner >= 0 && first) {
        found.latency = lead_latency(partner, latency);
    } else if (partner >= 0) {
        answer_latency(partner);
    }
    for (const bool there : {true, false}) {
        bench::meet(world_, (there ? "the bandwidth there" : "the bandwidth back") + where,
                    kGrace + options_.seconds);
        if (partner >= 0 && first == there) {
            found.rate = send(partner, direction);
        } else if (partner >= 0) {
            receive(partner);
        }
    }
    bench::meet(world_, "the end" + where, kGrace + options_.seconds);
    verify(partner, number);
    return found;
}

// Each ping says whether it is the last one, in the first of its 8 bytes.
double Pairs::lead_latency(int partner, double seconds) {
    samples_.clear();
    std::uint64_t word = 1;
    const double start = MPI_Wtime();
    double before = start;
    for (int warm = -kWarmUp; word != 0; ++warm) {
        const bool over = before - start > seconds || samples_.size() + 1 == kMostSamples;
        word = over && warm >= 0 ? 0 : 1;
        check(MPI_Send(&word, 1, MPI_UINT64_T, partner, kPing, MPI_COMM_WORLD), "MPI_Send");
        check(MPI_Recv(&word, 1, MPI_UINT64_T, partner, kPing, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
        if (nccl_ != nullptr) {
            before = MPI_Wtime();
            ping(true, partner);
            ping(false, partner);
        }
        const double now = MPI_Wtime();
        if (warm >= 0) {
            samples_.push_back(now - before);
        }
        before = now;
    }
    const auto middle = samples_.begin() + static_cast<std::ptrdiff_t>(samples_.size() / 2);
    std::nth_element(samples_.begin(), middle, samples_.end());
    return *middle / 2;
}

void Pairs::answer_latency(int partner) {
    std::uint64_t word = 1;
    while (word != 0) {
        check(MPI_Recv(&word, 1, MPI_UINT64_T, partner, kPing, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
        check(MPI_Send(&word, 1, MPI_UINT64_T, partner, kPing, MPI_COMM_WORLD), "MPI_Send");
        if (nccl_ != nullptr) {
            ping(false, partner);
            ping(true, partner);
        }
    }
}

void Pairs::ping(bool sends, int partner) {
    nccl_->exchange(sends, sends ? source_.data() : target_.data(), sizeof(std::uint64_t), 1,
                    partner);
}

void Pairs::exchange(bool sends, int partner, int messages) {
    if (nccl_ != nullptr) {
        nccl_->exchange(sends, sends ? source_.data() : target_.data(), kMessage, messages,
                        partner);
        return;
    }
    for (int message = 0; message < messages; ++message) {
        const auto slot = static_cast<std::size_t>(message);
        const int size = static_cast<int>(kMessage);
        if (sends) {
            check(MPI_Isend(source_.data(), size, MPI_CHAR, partner, kData, MPI_COMM_WORLD,
                            &requests_[slot]),
                  "MPI_Isend");
        } else {
            check(MPI_Irecv(target_.data() + slot * kMessage, size, MPI_CHAR, partner, kData,
                            MPI_COMM_WORLD, &requests_[slot]),
                  "MPI_Irecv");
        }
    }
    bench::wait_all(messages, requests_.data(), statuses_.data());
}

// Windows double until one takes its share of the time; those before are the warm-up.
double Pairs::send(int partner, double seconds) {
    int window = 1;
    double bytes = 0.0;
    double spent = 0.0;
    const double start = MPI_Wtime();
    for (bool first = true;; first = false) {
        check(MPI_Send(&window, 1, MPI_INT, partner, kWindow, MPI_COMM_WORLD), "MPI_Send");
        if (window == 0) {
            return bytes / spent;
        }
        const double before = MPI_Wtime();
        exchange(true, partner, window);
        check(MPI_Recv(nullptr, 0, MPI_CHAR, partner, kTaken, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
        const double now = MPI_Wtime();
        const bool over = now - start > seconds;
        const bool grows = window < kMostMessages && now - before < kShareOfWindow * seconds;
        bytes += static_cast<double>(window) * static_cast<double>(kMessage);
        spent += now - before;
        if (over) {
            window = 0;
        } else if (grows || first) {
            window = grows ? 2 * window : window;
            bytes = spent = 0.0;
        }
    }
}

void Pairs::receive(int partner) {
    for (;;) {
        int window = 0;
        check(MPI_Recv(&window, 1, MPI_INT, partner, kWindow, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
        if (window == 0) {
            return;
        }
        exchange(false, partner, window);
        check(MPI_Send(nullptr, 0, MPI_CHAR, partner, kTaken, MPI_COMM_WORLD), "MPI_Send");
        window_ = window;
    }
}

void Pairs::prepare(int partner, std::uint64_t number) {
    mismatch_ = {};
    if (!options_.validate || partner < 0) {
        return;
    }
    mpi_probe::fill_pattern(source_.image(), kElements, ElementType::Int,
                            {world_.rank, partner, number});
    source_.push(kMessage);
    mpi_probe::fill_poison(target_.image(), kMostMessages * kElements, ElementType::Int);
    target_.push(kMostMessages * kMessage);
}

void Pairs::verify(int partner, std::uint64_t number) {
    if (!options_.validate || partner < 0) {
        return;
    }
    target_.pull(kMostMessages * kMessage);
    if (options_.inject_error && world_.rank == world_.size - 1) {
        mpi_probe::corrupt_element(target_.image(), kElements - 1, ElementType::Int);
    }
    for (int message = 0; message < window_; ++message) {
        const std::size_t first = static_cast<std::size_t>(message) * kElements;
        mpi_probe::add_mismatches(mismatch_,
                                  mpi_probe::check_pattern(target_.image() + first * sizeof(int),
                                                           kElements, ElementType::Int,
                                                           {partner, world_.rank, number}, first));
    }
}

std::optional<bool> Pairs::is_right(std::uint64_t number) {
    if (!options_.validate) {
        return std::nullopt;
    }
    const int candidate = mismatch_.count > 0 ? world_.rank : world_.size;
    int witness = world_.size;
    check(MPI_Allreduce(&candidate, &witness, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD),
          "MPI_Allreduce");
    if (witness == world_.rank) {
        (void)std::fprintf(stderr,
                           "pair_probe: wrong data at %zu bytes: rank %d in round %llu, element "
                           "%zu: expected %g, found %g; %llu wrong elements in all on this rank\n",
                           kMessage, world_.rank, static_cast<unsigned long long>(number),
                           mismatch_.index, mismatch_.expected, mismatch_.found,
                           static_cast<unsigned long long>(mismatch_.count));
    }
    return witness == world_.size;
}

} // namespace pair_probe
