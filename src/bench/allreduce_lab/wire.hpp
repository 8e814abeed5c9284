// Where the floats of transformed blocks lie on the wire.
#pragma once

#include <algorithm>
#include <cstddef>

namespace allreduce_lab {

/// Neighbours on the wire are of different blocks, so that a lost packet takes a little of each,
/// not a whole one. Blocks mix in groups, as even as they can be: what a processor reads and writes
/// at a time stays in its cache.
class Wire {
  public:
    Wire(std::size_t blocks, std::size_t block)
        : blocks_(blocks), block_(block), groups_((blocks + kGroup - 1) / kGroup) {}

    void lay(const float* from, float* wire) const {
        each([=](std::size_t index, std::size_t place) { wire[place] = from[index]; });
    }
    void take_up(const float* wire, float* to) const {
        each([=](std::size_t index, std::size_t place) { to[index] = wire[place]; });
    }
    [[nodiscard]] std::size_t block_at(std::size_t place) const {
        const std::size_t group = ((place / block_ + 1) * groups_ - 1) / blocks_;
        const std::size_t first = first_of(group);
        return first + (place - first * block_) % (first_of(group + 1) - first);
    }

  private:
    static constexpr std::size_t kGroup = 64;
    static constexpr std::size_t kTile = 16; // floats of a line of the cache

    [[nodiscard]] std::size_t first_of(std::size_t group) const {
        return group * blocks_ / groups_;
    }
    template <class Move>
    void each(Move move) const {
        for (std::size_t group = 0; group < groups_; ++group) {
            const std::size_t first = first_of(group) * block_;
            const std::size_t count = first_of(group + 1) - first_of(group);
            for (std::size_t tile = 0; tile < block_; tile += kTile) {
                for (std::size_t block = 0; block < count; ++block) {
                    for (std::size_t index = tile; index < std::min(tile + kTile, block_);
                         ++index) {
                        move(first + block * block_ + index, first + index * count + block);
                    }
                }
            }
        }
    }

    std::size_t blocks_;
    std::size_t block_;
    std::size_t groups_;
};

} // namespace allreduce_lab
