// The functions of NVIDIA's driver that the programs use, in libcuda.so.1. Their declarations are
// those of cuda.h, whose macros append the version to a name.
#pragma once

#include <cstddef>
#include <string>

namespace bench::gpu {

using Pointer = unsigned long long; ///< an address on the device, as an integer
using Context = void*;
using Stream = void*; ///< null is the default stream

constexpr int kNotReady = 600; ///< of stream_query: work is under way

/// One for the process; loaded and initialized by the first call. Throws NoGpu.
struct Driver {
    Driver();

    int (*get_count)(int* count);
    int (*get_version)(int* version);
    int (*get_device)(int* device, int ordinal);
    int (*get_name)(char* name, int length, int device);
    int (*get_address)(char* text, int length, int device);
    int (*get_attribute)(int* value, int attribute, int device);
    int (*retain_context)(Context* context, int device);
    int (*set_context)(Context context);
    int (*synchronize)();
    int (*memory_info)(std::size_t* free, std::size_t* total);
    int (*allocate)(Pointer* result, std::size_t bytes);
    int (*allocate_managed)(Pointer* result, std::size_t bytes, unsigned flags);
    int (*allocate_pinned)(void** result, std::size_t bytes);
    int (*release)(Pointer memory);
    int (*release_pinned)(void* memory);
    int (*to_device)(Pointer to, const void* from, std::size_t bytes);
    int (*to_host)(void* to, Pointer from, std::size_t bytes);
    int (*fill)(Pointer memory, unsigned char value, std::size_t bytes);
    int (*create_stream)(Stream* stream, unsigned flags);
    int (*destroy_stream)(Stream stream);
    int (*stream_query)(Stream stream);
    int (*error_name)(int error, const char** text);
    int (*error_text)(int error, const char** text);
};

const Driver& driver();

/// "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)"
std::string error_of(const Driver& driver, int error);

/// Throws std::runtime_error, which names the call and its error.
[[noreturn, gnu::cold, gnu::noinline]] void refuse(const char* call, int error);

/// Checks the result of a call of the driver.
inline void check(int error, const char* call) {
    if (__builtin_expect(static_cast<long>(error != 0), 0) != 0) {
        refuse(call, error);
    }
}

} // namespace bench::gpu
