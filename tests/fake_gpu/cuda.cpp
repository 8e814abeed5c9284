// A libcuda.so.1 for tests on machines without a GPU, under our programs and under UCX: "device
// memory" is a POSIX shared-memory object. The address that programs get is PROT_NONE, so that a
// host which touches it faults, as with a GPU; the driver copies through a second mapping.
// FAKE_CUDA_FREE is the number of bytes that are free, FAKE_CUDA_REPORT=1 prints at the end what
// was called, FAKE_CUDA_CORRUPT=1 falsifies what is copied to the host, FAKE_GPU_OWNER becomes a
// part of the objects' names.
#include "cuda.hpp"

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

using namespace fake_cuda;

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

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

std::recursive_mutex mutex;
std::atomic<unsigned long long> next_id{1};
std::atomic<long> allocated, to_device, to_host, on_device, opened;

std::map<std::uintptr_t, Allocation>& allocations() {
    static std::map<std::uintptr_t, Allocation> all;
    return all;
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
    allocations()[reinterpret_cast<std::uintptr_t>(device)] = {static_cast<char*>(device),
                                                               static_cast<char*>(alias),
                                                               bytes,
                                                               name,
                                                               managed,
                                                               owned,
                                                               current_ordinal(),
                                                               next_id++};
    *result = reinterpret_cast<Pointer>(device);
    return kSuccess;
}

// Whose memory it is: tests remove what crashed ranks of theirs have left.
std::string owner() {
    const char* const text = std::getenv("FAKE_GPU_OWNER");
    return text == nullptr ? "nobody" : text;
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
        "/fakecuda." + owner() + "." + std::to_string(getpid()) + "." + std::to_string(count++);
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
        ++static_cast<char*>(to)[bytes - 1];
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
        *static_cast<void**>(value) = context_of(found->ordinal);
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

int cuMemGetInfo_v2(std::size_t* left, std::size_t* total) {
    *left = static_cast<std::size_t>(free_bytes());
    *total = kTotalBytes;
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

} // extern "C"
