#include "common/gpu/memory.hpp"

#include "common/gpu/device.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace bench::gpu {

namespace {

constexpr unsigned kAttachGlobal = 1; // CU_MEM_ATTACH_GLOBAL

// Where device memory lies, for signal handlers. A program has few buffers.
struct Range {
    const char* begin = nullptr;
    std::size_t bytes = 0;
};
std::array<Range, 32> ranges;

void note_range(const char* begin, std::size_t bytes) {
    auto* const free = std::find_if(ranges.begin(), ranges.end(),
                                    [](const Range& each) { return each.begin == nullptr; });
    if (free != ranges.end()) {
        *free = {begin, bytes};
    }
}

void forget_range(const char* begin) {
    for (Range& each : ranges) {
        each = each.begin == begin ? Range{} : each;
    }
}

// A GPU hangs for everyone where programs have more managed memory than it has.
void require_room(std::size_t bytes) {
    const std::uint64_t left = free_bytes();
    if (bytes > left) {
        throw std::runtime_error(std::to_string(bytes) + " bytes of managed memory are more than " +
                                 "the " + std::to_string(left) + " that the GPU has left");
    }
}

char* allocate(Memory kind, std::size_t bytes) {
    Pointer memory = 0;
    if (kind == Memory::Pinned) {
        return allocate_pinned(bytes);
    }
    if (kind == Memory::Managed) {
        require_room(bytes);
        check(driver().allocate_managed(&memory, bytes, kAttachGlobal), "cuMemAllocManaged");
    } else {
        check(driver().allocate(&memory, bytes), "cuMemAlloc");
        note_range(address(memory), bytes);
    }
    return address(memory);
}

} // namespace

char* allocate_pinned(std::size_t bytes) {
    void* memory = nullptr;
    check(driver().allocate_pinned(&memory, bytes), "cuMemAllocHost");
    return static_cast<char*>(memory);
}

bool is_device_memory(const void* address) {
    const auto* const byte = static_cast<const char*>(address);
    return std::any_of(ranges.begin(), ranges.end(), [byte](const Range& each) {
        return each.begin != nullptr && byte >= each.begin && byte < each.begin + each.bytes;
    });
}

Buffer::Buffer(Memory kind, std::size_t bytes, int fill, PageBuffer::Touch touch)
    : kind_(kind), bytes_(bytes) {
    if (kind == Memory::Host) {
        pages_ = PageBuffer(bytes, fill, touch);
        data_ = pages_.data();
        return;
    }
    data_ = allocate(kind, bytes > 0 ? bytes : 1);
    this->fill(fill, bytes);
}

Buffer::~Buffer() {
    // At the end of a program the driver may be gone already: errors say nothing.
    if (image_ != nullptr) {
        (void)driver().release_pinned(image_);
    }
    if (data_ != nullptr && kind_ == Memory::Pinned) {
        (void)driver().release_pinned(data_);
    } else if (data_ != nullptr && is_on_gpu(kind_)) {
        forget_range(data_);
        (void)driver().release(pointer(data_));
    }
}

Buffer::Buffer(Buffer&& other) noexcept {
    *this = std::move(other);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(bytes_, other.bytes_);
    std::swap(pages_, other.pages_);
    std::swap(data_, other.data_);
    std::swap(image_, other.image_);
    return *this;
}

void Buffer::fill(int value, std::size_t bytes) {
    if (!is_on_gpu(kind_)) {
        std::memset(data_, value, bytes);
        return;
    }
    check(driver().fill(pointer(data_), static_cast<unsigned char>(value), bytes), "cuMemsetD8");
    check(driver().synchronize(), "cuCtxSynchronize");
}

char* Buffer::image() {
    if (image_ == nullptr && is_on_gpu(kind_)) {
        image_ = allocate_pinned(bytes_);
    }
    return is_on_gpu(kind_) ? image_ : data_;
}

void Buffer::push(std::size_t bytes) {
    if (is_on_gpu(kind_)) {
        check(driver().to_device(pointer(data_), image(), bytes), "cuMemcpyHtoD");
        check(driver().synchronize(), "cuCtxSynchronize");
    }
}

void Buffer::pull(std::size_t bytes) {
    if (is_on_gpu(kind_)) {
        check(driver().to_host(image(), pointer(data_), bytes), "cuMemcpyDtoH");
    }
}

} // namespace bench::gpu
