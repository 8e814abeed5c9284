// Memory of four kinds, behind one face: what MPI is given, and what the host fills and checks.
#pragma once

#include "common/buffer.hpp"
#include "common/gpu/driver.hpp"

#include <cstdint>

namespace bench::gpu {

enum class Memory : std::uint8_t {
    Host,    ///< of the process
    Pinned,  ///< of the host, which the GPU copies from and to directly
    Device,  ///< of the GPU; the host cannot touch it
    Managed, ///< of both: pages move to whoever touches them
};

/// Whether a GPU is needed for it to be data of an application: all but Host.
constexpr bool is_on_gpu(Memory kind) {
    return kind == Memory::Device || kind == Memory::Managed;
}

/// Owns memory of one kind, at the start of a page.
class Buffer {
  public:
    Buffer() = default;
    /// Every byte is `fill`; host memory only where it is touched now. Throws std::bad_alloc, or
    /// std::runtime_error if the GPU has too little.
    Buffer(Memory kind, std::size_t bytes, int fill,
           PageBuffer::Touch touch = PageBuffer::Touch::Now);
    ~Buffer();
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    [[nodiscard]] explicit operator bool() const { return data_ != nullptr; }
    /// What MPI is given: an address of memory of that kind.
    [[nodiscard]] char* data() const { return data_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    /// Sets the first bytes.
    void fill(int value, std::size_t bytes);

    /// Where the host fills and checks: data() itself, or pinned memory of the same size that
    /// push() and pull() exchange with it. Made by the first call.
    char* image();
    /// The first bytes of the image to the device, so that whoever reads it next finds them there.
    void push(std::size_t bytes);
    /// The first bytes to the image.
    void pull(std::size_t bytes);

  private:
    Memory kind_ = Memory::Host;
    std::size_t bytes_ = 0;
    PageBuffer pages_;
    char* data_ = nullptr;
    char* image_ = nullptr; ///< of Device and Managed
};

/// Pinned memory. Throws std::runtime_error.
char* allocate_pinned(std::size_t bytes);

/// Whether a Buffer of device memory holds that address; may be asked in a signal handler.
bool is_device_memory(const void* address);

/// From a number to what programs are given, and back.
inline char* address(Pointer memory) {
    return reinterpret_cast<char*>(memory); // NOLINT(performance-no-int-to-ptr): the driver's own
}
inline Pointer pointer(const void* memory) {
    return reinterpret_cast<Pointer>(memory);
}

} // namespace bench::gpu
