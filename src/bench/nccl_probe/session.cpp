#include "nccl_probe/session.hpp"

#include "common/last_words.hpp"

#include <cmath>

namespace nccl_probe {

namespace {

// A sample ends by ncclCommAbort first.
constexpr unsigned kLongerThanTheLimit = 5;
constexpr unsigned kNonBlocking = 1; // CU_STREAM_NON_BLOCKING

} // namespace

Session::Session(const bench::World& world, const Options& options, const Nccl& nccl)
    : nccl_(nccl), driver_(bench::gpu::driver()), collective_(*options.collective),
      rank_(world.rank), ranks_(world.size), time_limit_(static_cast<double>(options.time_limit)) {
    set_time_limit();
    Nccl::Id id{};
    if (world.rank == 0) {
        const int error = nccl.get_id(&id);
        if (error != 0) {
            give_up("gave no id: " + nccl.error_text(error));
        }
    }
    bench::check(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    const int error = nccl.initialize(&communicator_, world.size, id, world.rank);
    if (error != 0) {
        communicator_ = nullptr;
        give_up("did not start: " + nccl.error_text(error));
    }
    bench::gpu::check(driver_.create_stream(&stream_, kNonBlocking), "cuStreamCreate");
}

Session::~Session() {
    set_time_limit();
    (void)nccl_.destroy(communicator_);
    (void)driver_.destroy_stream(stream_);
    bench::stay();
}

void Session::wait() const {
    const double end = MPI_Wtime() + time_limit_;
    int state = driver_.stream_query(stream_);
    while (state == bench::gpu::kNotReady) {
        int error = 0;
        if (nccl_.async_error(communicator_, &error) != 0 || error != 0) {
            give_up("noticed an error: " + nccl_.error_text(error));
        }
        if (MPI_Wtime() > end) {
            give_up("did not end within " + std::to_string(std::lround(time_limit_)) +
                    " s: another rank or the network hangs");
        }
        state = driver_.stream_query(stream_);
    }
    bench::gpu::check(state, "cuStreamQuery");
}

void Session::set_time_limit() const {
    const auto limit = static_cast<unsigned>(time_limit_) + kLongerThanTheLimit;
    bench::leave_after(limit, {"nccl_probe: rank " + std::to_string(rank_) + ": NCCL did not " +
                                   "return within " + std::to_string(limit) +
                                   " s: another rank or the network hangs\n",
                               0});
}

void Session::give_up(const std::string& what) const {
    if (communicator_ != nullptr) {
        (void)nccl_.abort(communicator_);
    }
    bench::abort_job("NCCL's " + std::string(collective_.name) + " " + what);
}

} // namespace nccl_probe
