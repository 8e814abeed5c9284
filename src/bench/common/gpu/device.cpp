#include "common/gpu/device.hpp"

#include "common/gpu/driver.hpp"
#include "common/gpu/library.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace bench::gpu {

namespace {

constexpr std::size_t kTextLength = 128;
// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR and CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY
constexpr int kMajorCapability = 75;
constexpr int kMinorCapability = 76;
constexpr int kManagedMemory = 83;

// Only NVML tells it; a container may lack that library.
std::string driver_version() {
    try {
        const Library library({"libnvidia-ml.so.1"}, "");
        int (*initialize)() = nullptr;
        int (*version)(char* text, unsigned length) = nullptr;
        library.find(initialize, "nvmlInit_v2");
        library.find(version, "nvmlSystemGetDriverVersion");
        std::array<char, kTextLength> text{};
        if (initialize() == 0 && version(text.data(), text.size()) == 0) {
            return text.data();
        }
    } catch (const NoGpu&) { // NOLINT(bugprone-empty-catch): it stays unknown
    }
    return {};
}

std::string cuda_version(const Driver& driver) {
    constexpr int kMajor = 1000;
    constexpr int kMinor = 10;
    int version = 0;
    check(driver.get_version(&version), "cuDriverGetVersion");
    return std::to_string(version / kMajor) + "." + std::to_string(version % kMajor / kMinor);
}

std::string arch_of(const Driver& driver, int handle) {
    std::string arch;
    for (const int which : {kMajorCapability, kMinorCapability}) {
        int value = 0;
        check(driver.get_attribute(&value, which, handle), "cuDeviceGetAttribute");
        arch += std::to_string(value);
    }
    return arch;
}

int choose(const Driver& driver, std::optional<unsigned> number, int local_rank) {
    int count = 0;
    check(driver.get_count(&count), "cuDeviceGetCount");
    if (count == 0) {
        throw NoGpu("NVIDIA's driver is here, but shows this process no GPU");
    }
    if (number && *number >= static_cast<unsigned>(count)) {
        throw NoGpu("option --gpu: there is no GPU " + std::to_string(*number) + ": this process " +
                    "sees " + std::to_string(count) + ", counted from 0");
    }
    return number ? static_cast<int>(*number) : local_rank % count;
}

void refuse_fake(const std::string& name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, before anything is measured
    const char* const allowed = std::getenv("FABRICHECK_FAKE_GPU");
    if (name == kFakeName && (allowed == nullptr || std::string_view(allowed) != "1")) {
        throw NoGpu("the GPU is the tests' \"" + name + "\", which measures nothing: take it out " +
                    "of LD_LIBRARY_PATH, or set FABRICHECK_FAKE_GPU=1 for a test");
    }
}

} // namespace

Device open(std::optional<unsigned> number, int local_rank) {
    const Driver& driver = gpu::driver();
    Device device;
    device.number = choose(driver, number, local_rank);
    int handle = 0;
    check(driver.get_device(&handle, device.number), "cuDeviceGet");
    std::array<char, kTextLength> text{};
    check(driver.get_name(text.data(), text.size(), handle), "cuDeviceGetName");
    device.name = text.data();
    refuse_fake(device.name);
    check(driver.get_address(text.data(), text.size(), handle), "cuDeviceGetPCIBusId");
    device.address = text.data();
    std::transform(device.address.begin(), device.address.end(), device.address.begin(),
                   [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
    device.arch = arch_of(driver, handle);
    Context context = nullptr;
    int error = driver.retain_context(&context, handle);
    error = error == 0 ? driver.set_context(context) : error;
    if (error != 0) {
        throw NoGpu("GPU " + device.address + " gives this process no context: " +
                    error_of(driver, error) + "; see with nvidia-smi who has it");
    }
    device.driver = driver_version();
    device.cuda = cuda_version(driver);
    return device;
}

std::uint64_t free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    check(driver().memory_info(&free, &total), "cuMemGetInfo");
    return free;
}

bool has_managed_memory(const Device& device) {
    int handle = 0;
    int value = 0;
    check(driver().get_device(&handle, device.number), "cuDeviceGet");
    check(driver().get_attribute(&value, kManagedMemory, handle), "cuDeviceGetAttribute");
    return value != 0;
}

} // namespace bench::gpu
