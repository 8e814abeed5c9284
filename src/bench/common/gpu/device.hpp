// The GPU of this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bench::gpu {

/// What a GPU is, as the driver tells it.
struct Device {
    int number = 0;      ///< among those that the process sees
    std::string name;    ///< "NVIDIA H100 80GB HBM3"
    std::string address; ///< of PCI, "0000:3b:00.0"
    std::string arch;    ///< its compute capability without the point, "90"
    std::string driver;  ///< its version, "580.159.04"; empty if NVML does not tell it
    std::string cuda;    ///< the version of CUDA that the driver knows, "13.0"
};

/// Name of the tests' stand-in for a GPU, which is refused unless FABRICHECK_FAKE_GPU=1.
constexpr const char* kFakeName = "Fake GPU (host memory)";

/// Takes a GPU for this thread: the one of that number, or else the one that a process with
/// `local_rank` takes, which is that rank modulo the number of GPUs. Its primary context becomes
/// the current one, which cuBLAS, NCCL and MPI work in too. Throws NoGpu.
Device open(std::optional<unsigned> number, int local_rank);

/// Bytes that are free on this thread's GPU.
std::uint64_t free_bytes();

/// Whether the GPU can have managed memory, which host and device both reach.
bool has_managed_memory(const Device& device);

} // namespace bench::gpu
