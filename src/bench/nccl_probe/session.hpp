// NCCL's communicator of all ranks, and what ends it.
#pragma once

#include "common/gpu/driver.hpp"
#include "common/world.hpp"
#include "nccl_probe/options.hpp"

namespace nccl_probe {

class Session {
  public:
    /// NCCL's start; collective. Ends the job if NCCL says no, or says nothing in time.
    Session(const bench::World& world, const Options& options, const Nccl& nccl);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    [[nodiscard]] Call call(const char* send, char* receive, std::size_t count) const {
        return {nccl_, communicator_, stream_, ranks_, send, receive, count};
    }

    /// Starts an operation.
    [[gnu::always_inline]] void start(const Call& call) const {
        const int error = collective_.run(call);
        if (__builtin_expect(static_cast<long>(error != 0), 0) != 0) {
            give_up("failed: " + nccl_.error_text(error));
        }
    }
    /// Waits for all operations that were started. What NCCL notices meanwhile, and a time limit,
    /// abort it and end the job: it would wait for ever.
    void wait() const;

    /// For calls of NCCL that may never return: from now on the process ends if it does not come
    /// here again in time.
    void set_time_limit() const;

  private:
    [[noreturn, gnu::cold, gnu::noinline]] void give_up(const std::string& what) const;

    const Nccl& nccl_;
    const bench::gpu::Driver& driver_;
    const Collective& collective_;
    int rank_;
    int ranks_;
    double time_limit_;
    Nccl::Communicator communicator_ = nullptr;
    Nccl::Stream stream_ = nullptr;
};

} // namespace nccl_probe
