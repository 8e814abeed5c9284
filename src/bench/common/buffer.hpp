// Memory that is sent and received, aligned to a page as OSU's.
#pragma once

#include <cstddef>

namespace bench {

/// Owns page-aligned memory.
class PageBuffer {
  public:
    enum class Touch { Now, Later };

    PageBuffer() = default;
    /// Now sets every byte to `fill`, so that all pages exist before anything is timed; Later
    /// leaves that to the caller.
    /// Throws std::bad_alloc.
    PageBuffer(std::size_t bytes, int fill, Touch touch = Touch::Now);
    ~PageBuffer();
    PageBuffer(PageBuffer&& other) noexcept;
    PageBuffer& operator=(PageBuffer&& other) noexcept;
    PageBuffer(const PageBuffer&) = delete;
    PageBuffer& operator=(const PageBuffer&) = delete;

    [[nodiscard]] char* data() const { return data_; }
    [[nodiscard]] explicit operator bool() const { return data_ != nullptr; }

  private:
    char* data_ = nullptr;
};

} // namespace bench
