#include "common/buffer.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>
#include <utility>

namespace bench {

PageBuffer::PageBuffer(std::size_t bytes, int fill, Touch touch) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* memory = nullptr;
    if (posix_memalign(&memory, page, std::max<std::size_t>(bytes, 1)) != 0) {
        throw std::bad_alloc();
    }
    if (touch == Touch::Now) {
        std::memset(memory, fill, bytes);
    }
    data_ = static_cast<char*>(memory);
}

PageBuffer::~PageBuffer() {
    std::free(data_); // NOLINT(cppcoreguidelines-no-malloc): posix_memalign's partner
}

PageBuffer::PageBuffer(PageBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
}

} // namespace bench
