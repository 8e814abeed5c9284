#include "common/gpu/driver.hpp"

#include "common/gpu/library.hpp"

namespace bench::gpu {

Driver::Driver() {
    const Library library({"libcuda.so.1"}, "there is no NVIDIA driver here, and so no GPU to use");
    int (*initialize)(unsigned flags) = nullptr;
    library.find(initialize, "cuInit");
    library.find(get_count, "cuDeviceGetCount");
    library.find(get_version, "cuDriverGetVersion");
    library.find(get_device, "cuDeviceGet");
    library.find(get_name, "cuDeviceGetName");
    library.find(get_address, "cuDeviceGetPCIBusId");
    library.find(get_attribute, "cuDeviceGetAttribute");
    library.find(retain_context, "cuDevicePrimaryCtxRetain");
    library.find(set_context, "cuCtxSetCurrent");
    library.find(synchronize, "cuCtxSynchronize");
    library.find(memory_info, "cuMemGetInfo_v2");
    library.find(allocate, "cuMemAlloc_v2");
    library.find(allocate_managed, "cuMemAllocManaged");
    library.find(allocate_pinned, "cuMemAllocHost_v2");
    library.find(release, "cuMemFree_v2");
    library.find(release_pinned, "cuMemFreeHost");
    library.find(to_device, "cuMemcpyHtoD_v2");
    library.find(to_host, "cuMemcpyDtoH_v2");
    library.find(fill, "cuMemsetD8_v2");
    library.find(create_stream, "cuStreamCreate");
    library.find(destroy_stream, "cuStreamDestroy_v2");
    library.find(stream_query, "cuStreamQuery");
    library.find(error_name, "cuGetErrorName");
    library.find(error_text, "cuGetErrorString");
    const int error = initialize(0);
    if (error != 0) {
        throw NoGpu("NVIDIA's driver is here, but finds no GPU to use: cuInit says " +
                    error_of(*this, error));
    }
}

const Driver& driver() {
    static const Driver the_driver;
    return the_driver;
}

std::string error_of(const Driver& driver, int error) {
    const char* name = nullptr;
    const char* text = nullptr;
    (void)driver.error_name(error, &name);
    (void)driver.error_text(error, &text);
    return std::string(name == nullptr ? std::to_string(error) : name) +
           (text == nullptr ? "" : std::string(" (") + text + ")");
}

void refuse(const char* call, int error) {
    throw std::runtime_error(std::string(call) + " failed: " + error_of(driver(), error));
}

} // namespace bench::gpu
