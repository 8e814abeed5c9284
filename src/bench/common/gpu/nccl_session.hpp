// NCCL's communicator of all ranks, and what ends it.
#pragma once

#include "common/gpu/driver.hpp"
#include "common/gpu/nccl.hpp"
#include "common/world.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace bench::gpu {

/// NCCL, loaded; on all ranks, or UsageError on all. Collective.
std::unique_ptr<Nccl> load_nccl(const World& world);

class NcclSession {
  public:
    /// NCCL's start; collective. Ends the job if NCCL says no, or says nothing in time. `what` is
    /// measured by the program, and named in its sentences.
    NcclSession(const World& world, std::string program, std::string what, std::uint64_t time_limit,
                const Nccl& nccl);
    ~NcclSession();
    NcclSession(const NcclSession&) = delete;
    NcclSession& operator=(const NcclSession&) = delete;

    [[nodiscard]] Nccl::Communicator communicator() const { return communicator_; }
    [[nodiscard]] Nccl::Stream stream() const { return stream_; }

    /// Takes what a call of NCCL returned; ends the job if that is an error.
    [[gnu::always_inline]] void check(int error) const {
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
    const Driver& driver_;
    std::string program_, what_;
    int rank_;
    double time_limit_;
    Nccl::Communicator communicator_ = nullptr;
    Nccl::Stream stream_ = nullptr;
};

} // namespace bench::gpu
