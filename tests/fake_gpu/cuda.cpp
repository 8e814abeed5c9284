// A libcuda.so.1 for tests on machines without a GPU, under our programs and under UCX: "device
// memory" is a POSIX shared-memory object. The address that programs get is PROT_NONE, so that a
// host which touches it faults, as with a GPU; the driver copies through a second mapping.
// FAKE_CUDA_DEVICES is the number of devices (1), FAKE_CUDA_FREE the bytes that are free on each,
// FAKE_CUDA_REPORT=1 prints at the end what was called, FAKE_CUDA_CORRUPT=1 falsifies what is
// copied to the host.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace {

using Pointer = unsigned long long;
using Lock = std::lock_guard<std::recursive_mutex>;

enum Result {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidContext = 201,
    kNotFound = 500,
    kNotReady = 600,
    kNotSupported = 801
};

// Memory of the device: where programs see it, and where the driver reads and writes it.
struct Allocation {
    char* device;
    char* alias;
    std::size_t bytes;
    std::string name;
    bool managed;
    bool owned;
    int ordinal;
    unsigned long long id;
};

struct Context {
    int ordinal;
};

constexpr int kMostDevices = 8;
std::array<Context, kMostDevices> contexts{{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}};
thread_local std::vector<Context*> stack;

std::recursive_mutex mutex;
std::atomic<int> held{0}; ///< whether streams never come to their end
std::atomic<unsigned long long> next_id{1};
std::atomic<long> allocated, to_device, to_host, on_device, opened;

std::map<std::uintptr_t, Allocation>& allocations() {
    static std::map<std::uintptr_t, Allocation> all;
    return all;
}

long number_of(const char* variable, long otherwise) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? otherwise : std::atol(text);
}

int devices() {
    static const int count = static_cast<int>(number_of("FAKE_CUDA_DEVICES", 1));
    return count;
}

// Leaves nothing in /dev/shm, and says what was done.
struct AtExit {
    AtExit() { (void)allocations(); }
    ~AtExit() {
        for (const auto& [address, each] : allocations()) {
            if (each.owned) {
                shm_unlink(each.name.c_str());
            }
        }
        if (number_of("FAKE_CUDA_REPORT", 0) != 0) {
            std::fprintf(stderr, "fakecuda[%d]: alloc %ld h2d %ld d2h %ld d2d %ld ipc_open %ld\n",
                         getpid(), allocated.load(), to_device.load(), to_host.load(),
                         on_device.load(), opened.load());
        }
    }
} at_exit;

Allocation* find(std::uintptr_t address) {
    auto found = allocations().upper_bound(address);
    if (found == allocations().begin()) {
        return nullptr;
    }
    --found;
    return address < found->first + found->second.bytes ? &found->second : nullptr;
}

char* real(const void* address) {
    const Lock lock(mutex);
    const Allocation* const found = find(reinterpret_cast<std::uintptr_t>(address));
    auto* const plain = static_cast<char*>(const_cast<void*>(address));
    return found == nullptr ? plain : found->alias + (plain - found->device);
}

bool is_device(const void* address) {
    const Lock lock(mutex);
    return find(reinterpret_cast<std::uintptr_t>(address)) != nullptr;
}

Result map(const std::string& name, int file, std::size_t bytes, bool managed, bool owned,
           Pointer* result) {
    constexpr int kBoth = PROT_READ | PROT_WRITE;
    void* const alias = mmap(nullptr, bytes, kBoth, MAP_SHARED, file, 0);
    void* const device = managed ? alias : mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
    close(file);
    if (alias == MAP_FAILED || device == MAP_FAILED) {
        return kOutOfMemory;
    }
    const Lock lock(mutex);
    allocations()[reinterpret_cast<std::uintptr_t>(device)] = {
        static_cast<char*>(device),
        static_cast<char*>(alias),
        bytes,
        name,
        managed,
        owned,
        stack.empty() ? 0 : stack.back()->ordinal,
        next_id++};
    *result = reinterpret_cast<Pointer>(device);
    return kSuccess;
}

long free_bytes() {
    return number_of("FAKE_CUDA_FREE", 4L << 30);
}

Result allocate(Pointer* result, std::size_t bytes, bool managed) {
    constexpr std::size_t kUnit = std::size_t{2} << 20;
    static std::atomic<int> count;
    bytes = (bytes + kUnit - 1) / kUnit * kUnit;
    if (bytes > static_cast<std::size_t>(free_bytes())) {
        return kOutOfMemory;
    }
    ++allocated;
    const std::string name =
        "/fakecuda." + std::to_string(getpid()) + "." + std::to_string(count++);
    const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        return kOutOfMemory;
    }
    return map(name, file, bytes, managed, true, result);
}

Result copy(void* to, const void* from, std::size_t bytes) {
    const bool into = is_device(to);
    const bool out_of = is_device(from);
    ++(into && out_of ? on_device : into ? to_device : to_host);
    std::memmove(real(to), real(from), bytes);
    if (!into && bytes > 0 && number_of("FAKE_CUDA_CORRUPT", 0) != 0) {
        static_cast<char*>(to)[bytes - 1] ^= 1;
    }
    return kSuccess;
}

Result release(Pointer address) {
    const Lock lock(mutex);
    const auto found = allocations().find(address);
    if (found == allocations().end()) {
        return kInvalidValue;
    }
    const Allocation gone = found->second;
    allocations().erase(found);
    munmap(gone.alias, gone.bytes);
    if (gone.device != gone.alias) {
        munmap(gone.device, gone.bytes);
    }
    if (gone.owned) {
        shm_unlink(gone.name.c_str());
    }
    return kSuccess;
}

// The attributes of a pointer that UCX asks for, by their numbers in cuda.h.
Result attribute(void* value, int which, Pointer address) {
    const Lock lock(mutex);
    const Allocation* const found = find(address);
    if (found == nullptr) {
        return kInvalidValue;
    }
    switch (which) {
    case 1: // context
        *static_cast<void**>(value) = &contexts[static_cast<std::size_t>(found->ordinal)];
        return kSuccess;
    case 2: // memory type: device
        *static_cast<unsigned*>(value) = 2;
        return kSuccess;
    case 7: // buffer id
        *static_cast<unsigned long long*>(value) = found->id;
        return kSuccess;
    case 8: // is managed
        *static_cast<unsigned*>(value) = found->managed ? 1 : 0;
        return kSuccess;
    case 9: // device ordinal
        *static_cast<int*>(value) = found->ordinal;
        return kSuccess;
    case 10: // may be sent to another process
        *static_cast<int*>(value) = 1;
        return kSuccess;
    case 14: // allowed handle types
        *static_cast<unsigned long long*>(value) = 0;
        return kSuccess;
    case 17: // memory pool
        *static_cast<void**>(value) = nullptr;
        return kSuccess;
    default:
        return kInvalidValue;
    }
}

void* at(Pointer address) {
    return reinterpret_cast<void*>(address);
}

} // namespace

extern "C" {

struct Handle {
    char name[64];
};

// For the fake NCCL: from now on no stream comes to its end.
void fake_cuda_hold() {
    held = 1;
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
    *bytes = std::size_t{4} << 30;
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
    *context = &contexts[static_cast<std::size_t>(device)];
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

int cuMemGetInfo_v2(std::size_t* left, std::size_t* total) {
    *left = static_cast<std::size_t>(free_bytes());
    *total = std::size_t{4} << 30;
    return kSuccess;
}
int cuMemAlloc_v2(Pointer* result, std::size_t bytes) {
    return allocate(result, bytes, false);
}
int cuMemAllocManaged(Pointer* result, std::size_t bytes, unsigned) {
    return allocate(result, bytes, true);
}
int cuMemFree_v2(Pointer address) {
    return release(address);
}
int cuMemAllocHost_v2(void** result, std::size_t bytes) {
    return posix_memalign(result, 4096, bytes) == 0 ? kSuccess : kOutOfMemory;
}
int cuMemFreeHost(void* memory) {
    std::free(memory);
    return kSuccess;
}
int cuMemcpyHtoD_v2(Pointer to, const void* from, std::size_t bytes) {
    return copy(at(to), from, bytes);
}
int cuMemcpyDtoH_v2(void* to, Pointer from, std::size_t bytes) {
    return copy(to, at(from), bytes);
}
int cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, std::size_t bytes, void*) {
    return copy(at(to), at(from), bytes);
}
int cuMemcpyAsync(Pointer to, Pointer from, std::size_t bytes, void*) {
    return copy(at(to), at(from), bytes);
}
int cuMemsetD8_v2(Pointer address, unsigned char value, std::size_t bytes) {
    std::memset(real(at(address)), value, bytes);
    return kSuccess;
}
int cuMemGetAddressRange_v2(Pointer* base, std::size_t* bytes, Pointer address) {
    const Lock lock(mutex);
    const Allocation* const found = find(address);
    if (found == nullptr) {
        return kNotFound;
    }
    if (base != nullptr) {
        *base = reinterpret_cast<Pointer>(found->device);
    }
    if (bytes != nullptr) {
        *bytes = found->bytes;
    }
    return kSuccess;
}
int cuMemHostRegister_v2(void*, std::size_t, unsigned) {
    return kSuccess;
}
int cuMemHostUnregister(void*) {
    return kSuccess;
}
int cuPointerGetAttribute(void* value, int which, Pointer address) {
    return attribute(value, which, address);
}
int cuPointerGetAttributes(unsigned count, const int* which, void** values, Pointer address) {
    constexpr int kMemoryType = 2;
    for (unsigned index = 0; index < count; ++index) {
        if (is_device(at(address))) {
            (void)attribute(values[index], which[index], address);
        } else if (which[index] == kMemoryType) {
            *static_cast<unsigned*>(values[index]) = 0;
        }
    }
    return kSuccess;
}
int cuPointerSetAttribute(const void*, int, Pointer) {
    return kSuccess;
}

int cuIpcGetMemHandle(Handle* handle, Pointer address) {
    const Lock lock(mutex);
    const Allocation* const found = find(address);
    if (found == nullptr || found->managed) {
        return kInvalidValue;
    }
    *handle = {};
    std::snprintf(handle->name, sizeof handle->name, "%s", found->name.c_str());
    return kSuccess;
}
int cuIpcOpenMemHandle_v2(Pointer* result, Handle handle, unsigned) {
    const int file = shm_open(handle.name, O_RDWR, 0600);
    struct stat status {};
    if (file < 0 || fstat(file, &status) != 0) {
        return kInvalidValue;
    }
    ++opened;
    return map(handle.name, file, static_cast<std::size_t>(status.st_size), false, false, result);
}
int cuIpcCloseMemHandle(Pointer address) {
    return release(address);
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
    return held != 0 ? kNotReady : kSuccess;
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
