#include "common/gpu/nccl_session.hpp"

#include "common/gpu/library.hpp"
#include "common/last_words.hpp"

#include <cmath>
#include <utility>

namespace bench::gpu {

namespace {

// A sample ends by ncclCommAbort first.
constexpr unsigned kLongerThanTheLimit = 5;
constexpr unsigned kNonBlocking = 1; // CU_STREAM_NON_BLOCKING

} // namespace

std::unique_ptr<Nccl> load_nccl(const World& world) {
    std::unique_ptr<Nccl> nccl;
    std::string refusal;
    try {
        nccl = std::make_unique<Nccl>();
    } catch (const NoGpu& none) {
        refusal = none.what();
    }
    agree(world, refusal);
    return nccl;
}

NcclSession::NcclSession(const World& world, std::string program, std::string what,
                         std::uint64_t time_limit, const Nccl& nccl)
    : nccl_(nccl), driver_(driver()), program_(std::move(program)), what_(std::move(what)),
      rank_(world.rank), time_limit_(static_cast<double>(time_limit)) {
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
    gpu::check(driver_.create_stream(&stream_, kNonBlocking), "cuStreamCreate");
}

NcclSession::~NcclSession() {
    set_time_limit();
    (void)nccl_.destroy(communicator_);
    (void)driver_.destroy_stream(stream_);
    stay();
}

void NcclSession::wait() const {
    const double end = MPI_Wtime() + time_limit_;
    int state = driver_.stream_query(stream_);
    while (state == kNotReady) {
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
    gpu::check(state, "cuStreamQuery");
}

void NcclSession::set_time_limit() const {
    const auto limit = static_cast<unsigned>(time_limit_) + kLongerThanTheLimit;
    leave_after(limit, {program_ + ": rank " + std::to_string(rank_) + ": NCCL did not " +
                            "return within " + std::to_string(limit) +
                            " s: another rank or the network hangs\n",
                        0});
}

void NcclSession::give_up(const std::string& what) const {
    if (communicator_ != nullptr) {
        (void)nccl_.abort(communicator_);
    }
    abort_job("NCCL's " + what_ + " " + what);
}

} // namespace bench::gpu
