// What the files of the fake driver share.
#pragma once

#include <cstddef>

namespace fake_cuda {

using Pointer = unsigned long long;

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

struct Context {
    int ordinal;
};

/// The context of a device of that ordinal.
Context* context_of(int ordinal);

/// The device that this thread works on.
int current_ordinal();

/// A number from the environment.
long number_of(const char* variable, long otherwise);

constexpr std::size_t kTotalBytes = std::size_t{4} << 30U;

} // namespace fake_cuda
