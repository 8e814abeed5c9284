// How messages come from a rank's buffers to MPI, and from MPI to its buffers: as they lie, or
// copied through pinned memory of the host. Both have the same functions, which stand in the timed
// part, so that a kernel is made for each of them.
#pragma once

#include "common/gpu/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mpi_probe {

using bench::gpu::Buffer;
using bench::gpu::Memory;

/// The buffers of one benchmark, which live as long as the program.
struct Buffers {
    Buffer send;
    Buffer receive;
    Buffer scratch; ///< what rehearsals of a validated iteration receive into
    // Of a staged path: where MPI sends from and receives into, a slot for each message in flight.
    Buffer outgoing;
    Buffer incoming;
};

/// Bytes that a staged path has copied on this rank.
struct Copied {
    std::uint64_t out = 0; ///< from the GPU
    std::uint64_t in = 0;  ///< to it
};

/// MPI is given the buffers themselves.
class Direct {
  public:
    Direct(Buffers& /*buffers*/, std::size_t /*bytes*/) {}

    // Not static: called as those of Staged are.
    // NOLINTBEGIN(readability-convert-member-functions-to-static)

    /// Messages that may be in flight one way.
    [[nodiscard]] int slots(int window) const { return window; }
    /// What MPI sends in the place of `data`, and what it receives into.
    [[gnu::always_inline]] char* outgoing(char* data, std::size_t /*bytes*/, int /*slot*/) {
        return data;
    }
    [[gnu::always_inline]] char* incoming(char* data, int /*slot*/) { return data; }
    [[gnu::always_inline]] void outgoing_in_place(char* /*data*/, std::size_t /*bytes*/) {}
    /// To be called when a message has arrived.
    [[gnu::always_inline]] void arrived(char* /*data*/, std::size_t /*bytes*/, int /*slot*/) {}

    [[nodiscard]] Copied copied() const { return {}; }
    // NOLINTEND(readability-convert-member-functions-to-static)
};

/// Each message is copied to pinned memory before MPI sends it, and from there after it arrived.
class Staged {
  public:
    /// For messages of so many bytes; the slots were made by make_slots.
    Staged(Buffers& buffers, std::size_t bytes)
        : driver_(bench::gpu::driver()), out_(buffers.outgoing.data()),
          in_(buffers.incoming.data()), bytes_(bytes), room_(buffers.outgoing.bytes()) {}

    /// Pinned memory for a window of messages of the largest size, one way.
    static std::size_t room(std::size_t largest, int window) {
        return std::max(largest, std::min(kMostBytes, largest * static_cast<std::size_t>(window)));
    }

    [[nodiscard]] int slots(int window) const {
        return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(window),
                                                      room_ / std::max<std::size_t>(bytes_, 1)));
    }
    [[gnu::always_inline]] char* outgoing(char* data, std::size_t bytes, int slot) {
        char* const place = out_ + bytes_ * static_cast<std::size_t>(slot);
        bench::gpu::check(driver_.to_host(place, bench::gpu::pointer(data), bytes), "cuMemcpyDtoH");
        copied_.out += bytes;
        return place;
    }
    // What lies where MPI receives into: of a root that sends from there.
    [[gnu::always_inline]] void outgoing_in_place(char* data, std::size_t bytes) {
        bench::gpu::check(driver_.to_host(in_, bench::gpu::pointer(data), bytes), "cuMemcpyDtoH");
        copied_.out += bytes;
    }
    [[gnu::always_inline]] char* incoming(char* /*data*/, int slot) {
        return in_ + bytes_ * static_cast<std::size_t>(slot);
    }
    [[gnu::always_inline]] void arrived(char* data, std::size_t bytes, int slot) {
        const char* const place = in_ + bytes_ * static_cast<std::size_t>(slot);
        bench::gpu::check(driver_.to_device(bench::gpu::pointer(data), place, bytes),
                          "cuMemcpyHtoD");
        copied_.in += bytes;
    }

    [[nodiscard]] Copied copied() const { return copied_; }

  private:
    /// Of pinned memory, one way: beyond it a window goes in parts.
    static constexpr std::size_t kMostBytes = std::size_t{64} << 20U;

    const bench::gpu::Driver& driver_;
    char* out_;
    char* in_;
    std::size_t bytes_;
    std::size_t room_;
    Copied copied_;
};

} // namespace mpi_probe
