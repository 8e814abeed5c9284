// Devices, contexts and streams of the fake driver. FAKE_CUDA_DEVICES is the number of devices (1),
// FAKE_CUDA_MANAGED=0 leaves them without managed memory, FAKE_CUDA_CONTEXT is the error that a
// context gives.
#include "cuda.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace fake_cuda;

namespace {

constexpr int kMostDevices = 8;
std::array<Context, kMostDevices> contexts{{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}};
thread_local std::vector<Context*> stack;
bool held = false; ///< whether streams never come to their end

int devices() {
    static const int count = static_cast<int>(number_of("FAKE_CUDA_DEVICES", 1));
    return count;
}

} // namespace

namespace fake_cuda {

Context* context_of(int ordinal) {
    return &contexts[static_cast<std::size_t>(ordinal)];
}

int current_ordinal() {
    return stack.empty() ? 0 : stack.back()->ordinal;
}

long number_of(const char* variable, long otherwise) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? otherwise : std::atol(text);
}

} // namespace fake_cuda

extern "C" {

// For the fake NCCL: from now on no stream comes to its end.
void fake_cuda_hold() {
    held = true;
}

int cuInit(unsigned) {
    return devices() == 0 ? kNoDevice : kSuccess;
}
int cuDriverGetVersion(int* version) {
    *version = 13000;
    return kSuccess;
}
int cuDeviceGetCount(int* count) {
    *count = devices();
    return devices() == 0 ? kNoDevice : kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal < devices() ? kSuccess : kInvalidDevice;
}
int cuDeviceGetName(char* name, int length, int) {
    std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU (host memory)");
    return kSuccess;
}
int cuDeviceGetUuid(char* uuid, int device) {
    std::memset(uuid, 0x5a + device, 16);
    return kSuccess;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    *bytes = kTotalBytes;
    return kSuccess;
}
int cuDeviceGetPCIBusId(char* text, int length, int device) {
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", 0x3b + device);
    return kSuccess;
}
int cuDeviceGetAttribute(int* value, int which, int device) {
    constexpr int kUnifiedAddressing = 41, kManaged = 83, kConcurrentManaged = 89;
    constexpr int kBusId = 33, kMajor = 75;
    *value = which == kUnifiedAddressing || which == kConcurrentManaged ? 1 : 0;
    *value = which == kManaged ? static_cast<int>(number_of("FAKE_CUDA_MANAGED", 1)) : *value;
    *value = which == kBusId ? 0x3b + device : which == kMajor ? 9 : *value;
    return kSuccess;
}
int cuDevicePrimaryCtxRetain(Context** context, int device) {
    *context = context_of(device);
    return static_cast<int>(number_of("FAKE_CUDA_CONTEXT", kSuccess));
}
int cuDevicePrimaryCtxRelease_v2(int) {
    return kSuccess;
}
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
    *flags = 0;
    *active = 1;
    return kSuccess;
}
int cuCtxGetCurrent(Context** context) {
    *context = stack.empty() ? nullptr : stack.back();
    return kSuccess;
}
int cuCtxSetCurrent(Context* context) {
    if (stack.empty()) {
        stack.push_back(context);
    }
    stack.back() = context;
    return kSuccess;
}
int cuCtxPushCurrent_v2(Context* context) {
    stack.push_back(context);
    return kSuccess;
}
int cuCtxPopCurrent_v2(Context** context) {
    if (stack.empty()) {
        return kInvalidContext;
    }
    if (context != nullptr) {
        *context = stack.back();
    }
    stack.pop_back();
    return kSuccess;
}
int cuCtxGetDevice(int* device) {
    if (stack.empty() || stack.back() == nullptr) {
        return kInvalidContext;
    }
    *device = stack.back()->ordinal;
    return kSuccess;
}
int cuCtxGetId(Context* context, unsigned long long* id) {
    *id = context == nullptr ? 1 : 1 + static_cast<unsigned long long>(context->ordinal);
    return kSuccess;
}
int cuCtxSynchronize() {
    return kSuccess;
}

int cuStreamCreate(int** stream, unsigned) {
    *stream = new int;
    return kSuccess;
}
int cuStreamDestroy_v2(int* stream) {
    delete stream;
    return kSuccess;
}
int cuStreamSynchronize(int*) {
    return kSuccess;
}
int cuStreamQuery(int*) {
    return held ? kNotReady : kSuccess;
}
int cuStreamAddCallback(int* stream, void (*call)(int*, int, void*), void* data, unsigned) {
    call(stream, kSuccess, data);
    return kSuccess;
}
int cuEventCreate(int** event, unsigned) {
    return cuStreamCreate(event, 0);
}
int cuEventDestroy_v2(int* event) {
    return cuStreamDestroy_v2(event);
}
int cuEventQuery(int*) {
    return kSuccess;
}
int cuEventRecord(int*, int*) {
    return kSuccess;
}

int cuGetErrorName(int error, const char** text) {
    static thread_local char name[32];
    std::snprintf(name, sizeof name, "FAKE_ERROR_%d", error);
    *text = error == kNoDevice ? "CUDA_ERROR_NO_DEVICE" : name;
    return kSuccess;
}
int cuGetErrorString(int error, const char** text) {
    return cuGetErrorName(error, text);
}
int cuGetProcAddress_v2(const char*, void** function, int, std::uint64_t, int* status) {
    *function = nullptr;
    if (status != nullptr) {
        *status = 1; // not found
    }
    return kNotFound;
}

// What UCX links and never needs here.
#define NOT_SUPPORTED(name)                                                                        \
    int name() {                                                                                   \
        return kNotSupported;                                                                      \
    }
NOT_SUPPORTED(cuMemAddressFree)
NOT_SUPPORTED(cuMemAddressReserve)
NOT_SUPPORTED(cuMemAllocAsync)
NOT_SUPPORTED(cuMemAllocFromPoolAsync)
NOT_SUPPORTED(cuMemAllocPitch_v2)
NOT_SUPPORTED(cuMemCreate)
NOT_SUPPORTED(cuMemExportToShareableHandle)
NOT_SUPPORTED(cuMemFreeAsync)
NOT_SUPPORTED(cuMemGetAllocationGranularity)
NOT_SUPPORTED(cuMemGetAllocationPropertiesFromHandle)
NOT_SUPPORTED(cuMemImportFromShareableHandle)
NOT_SUPPORTED(cuMemMap)
NOT_SUPPORTED(cuMemPoolDestroy)
NOT_SUPPORTED(cuMemPoolExportPointer)
NOT_SUPPORTED(cuMemPoolExportToShareableHandle)
NOT_SUPPORTED(cuMemPoolImportFromShareableHandle)
NOT_SUPPORTED(cuMemPoolImportPointer)
NOT_SUPPORTED(cuMemPoolSetAccess)
NOT_SUPPORTED(cuMemRangeGetAttribute)
NOT_SUPPORTED(cuMemRelease)
NOT_SUPPORTED(cuMemRetainAllocationHandle)
NOT_SUPPORTED(cuMemSetAccess)
NOT_SUPPORTED(cuMemUnmap)

} // extern "C"
