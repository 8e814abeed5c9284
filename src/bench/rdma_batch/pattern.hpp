// The data of a row, and their comparison, byte by byte. Never inside the timed part.
#pragma once

#include "rdma_batch/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rdma_batch {

/// Fills all slots with bytes that depend on seed, slot and place, and the gaps with a fixed byte.
void fill(std::byte* buffer, const Layout& layout, std::uint64_t seed);

/// Fills slots and gaps so that no byte of a slot is what `fill` with that seed writes there, and
/// every gap is.
void clear(std::byte* buffer, const Layout& layout, std::uint64_t seed);

/// The first byte that is not what `fill` writes, in one sentence; nothing if all are.
std::optional<std::string> difference(const std::byte* buffer, const Layout& layout,
                                      std::uint64_t seed);

} // namespace rdma_batch
