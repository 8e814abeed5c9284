#include "common/gpu/library.hpp"

#include <dlfcn.h>

namespace bench::gpu {

Library::Library(const std::vector<const char*>& names, const char* advice) {
    std::string why;
    for (const char* const name : names) {
        handle_ = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
        if (handle_ != nullptr) {
            name_ = name;
            return;
        }
        // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, before anything is measured
        why = why.empty() ? dlerror() : why;
    }
    throw NoGpu(why + ": " + advice);
}

void* Library::symbol_of(const char* symbol) const {
    void* const found = dlsym(handle_, symbol);
    if (found == nullptr) {
        throw NoGpu(name_ + " has no " + symbol +
                    ": it is older than CUDA 11 or not NVIDIA's; see what LD_LIBRARY_PATH names");
    }
    return found;
}

} // namespace bench::gpu
