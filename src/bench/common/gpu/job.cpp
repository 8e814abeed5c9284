#include "common/gpu/job.hpp"

#include "common/gpu/library.hpp"
#include "common/last_words.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <dlfcn.h>
#include <functional>
#include <vector>

namespace bench::gpu {

namespace {

constexpr int kTag = 1;
constexpr unsigned kSecondsForOneByte = 4;
constexpr unsigned kMoments = 5; ///< seconds in which the rank that spoke ends the others

// By the name of the host: an MPI that is told to use no shared memory (MPIR_CVAR_NOLOCAL) takes
// each rank for a node of its own in MPI_Comm_split_type.
int rank_on_host(const World& world) {
    const std::uint64_t own = std::hash<std::string>()(own_host());
    std::vector<std::uint64_t> hosts(static_cast<std::size_t>(world.size));
    check(MPI_Allgather(&own, 1, MPI_UINT64_T, hosts.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD),
          "MPI_Allgather");
    return static_cast<int>(std::count(hosts.begin(), hosts.begin() + world.rank, own));
}

// What the MPI says of itself. Open MPI without CUDA on a UCX with CUDA says no, and works.
Value says_aware() {
    using Query = int();
    auto* const query = reinterpret_cast<Query*>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
    return query == nullptr ? Value() : Value(query() == 1);
}

// What the handler of faults needs.
LastWords touched;
bool is_exchanging = false;
struct sigaction before_fault {};
struct sigaction before_bus_error {};

extern "C" void on_fault(int signal, siginfo_t* info, void* /*context*/) {
    if (is_exchanging || is_device_memory(info->si_addr)) {
        leave(touched);
    }
    // Not ours: it comes again, to whoever had it before.
    (void)sigaction(signal, signal == SIGSEGV ? &before_fault : &before_bus_error, nullptr);
}

void watch_faults() {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGSEGV, &action, &before_fault);
    (void)sigaction(SIGBUS, &action, &before_bus_error);
}

void send(char* byte, int peer) {
    check(MPI_Send(byte, 1, MPI_CHAR, peer, kTag, MPI_COMM_WORLD), "MPI_Send");
}

void receive(char* byte, int peer) {
    check(MPI_Recv(byte, 1, MPI_CHAR, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
}

// One rank at a time touches the byte, so that one rank at most has something to say.
void pass_on(const World& world, Buffer& byte) {
    const int before = (world.rank + world.size - 1) % world.size;
    const int after = (world.rank + 1) % world.size;
    if (world.rank == 0) {
        send(byte.data(), after);
        byte.fill(0, 1);
    }
    receive(byte.data(), before);
    if (world.rank != 0) {
        send(byte.data(), after);
    }
}

} // namespace

Device open_for_rank(const World& world, std::optional<unsigned> number, Memory kind) {
    const int local_rank = rank_on_host(world);
    Device device;
    std::string refusal;
    try {
        device = open(number, local_rank);
        if (kind == Memory::Managed && !has_managed_memory(device)) {
            refusal = "GPU " + device.address + " has no managed memory";
        }
    } catch (const NoGpu& none) {
        refusal = none.what();
    }
    agree(world, refusal);
    return device;
}

void add_facts(Report& report, const World& world, const Device& device) {
    const bool has_driver = !device.driver.empty();
    report.fact("gpu", gather(world, device.name), "GPU");
    report.fact("gpu_address", gather(world, device.address), "PCI");
    report.fact("gpu_arch", gather(world, device.arch), "Architecture");
    report.fact("gpu_driver", has_driver ? Value(device.driver) : Value(), "Driver");
    report.fact("cuda", device.cuda, "CUDA");
    report.fact("mpi_cuda_support", says_aware());
}

void require_aware_mpi(const World& world, const char* program, const std::string& benchmark,
                       Memory kind) {
    constexpr int kToken = 0x5a;
    const std::string advice = "; use --path staged, or an MPI whose UCX has CUDA\n";
    touched = {std::string(program) + ": this MPI touches device memory from the host in " +
                   benchmark + ": it is not CUDA-aware" + advice,
               0};
    Buffer byte(kind, 1, world.rank == 0 ? kToken : 0);
    watch_faults();
    leave_after(kSecondsForOneByte,
                {std::string(program) + ": one byte of device memory did not come through this " +
                     "MPI in " + std::to_string(kSecondsForOneByte) +
                     " s: it is not CUDA-aware, or hangs" + advice,
                 world.rank == 0 ? 0 : kMoments});
    if (world.size > 1) {
        is_exchanging = true;
        pass_on(world, byte);
        is_exchanging = false;
    }
    // A collective fails on all ranks at once.
    touched.seconds_to_wait = world.rank == 0 ? 0 : kMoments;
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    stay();
    byte.pull(1);
    if (*byte.image() != kToken) {
        abort_job("one byte of device memory did not come through this MPI as it was" + advice);
    }
}

} // namespace bench::gpu
