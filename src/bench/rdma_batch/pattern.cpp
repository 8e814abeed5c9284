#include "rdma_batch/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace rdma_batch {

namespace {

constexpr std::byte kGap{0xA5};
constexpr std::uint64_t kWord = sizeof(std::uint64_t);

// SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
std::uint64_t word_of(std::uint64_t seed, std::uint64_t slot, std::uint64_t index) {
    std::uint64_t value = seed * 0x9e3779b97f4a7c15U + (slot << 32U) + index + 1;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

// Calls visit(place, word, length) for each piece of a slot.
template <class Visit>
void each_piece(std::uint64_t size, std::uint64_t seed, std::uint64_t slot, Visit visit) {
    for (std::uint64_t place = 0; place < size; place += kWord) {
        visit(place, word_of(seed, slot, place / kWord), std::min(kWord, size - place));
    }
}

void write_slots(std::byte* buffer, const Layout& layout, std::uint64_t seed,
                 std::uint64_t inverted) {
    for (std::uint64_t slot = 0; slot < layout.slots; ++slot) {
        std::byte* const start = buffer + layout.offset(slot);
        each_piece(layout.size, seed, slot, [&](auto place, std::uint64_t word, auto length) {
            word ^= inverted;
            std::memcpy(start + place, &word, length);
        });
        start[layout.size] = kGap;
    }
}

std::string told(const char* what, std::uint64_t slot, std::uint64_t place, std::byte expected,
                 std::byte found) {
    return std::string(what) + " " + std::to_string(slot) + ", byte " + std::to_string(place) +
           ": expected " + std::to_string(std::to_integer<unsigned>(expected)) + ", found " +
           std::to_string(std::to_integer<unsigned>(found));
}

} // namespace

void fill(std::byte* buffer, const Layout& layout, std::uint64_t seed) {
    write_slots(buffer, layout, seed, 0);
}

void clear(std::byte* buffer, const Layout& layout, std::uint64_t seed) {
    write_slots(buffer, layout, seed, ~std::uint64_t{0});
}

std::optional<std::string> difference(const std::byte* buffer, const Layout& layout,
                                      std::uint64_t seed) {
    for (std::uint64_t slot = 0; slot < layout.slots; ++slot) {
        const std::byte* const start = buffer + layout.offset(slot);
        std::optional<std::string> found;
        each_piece(layout.size, seed, slot, [&](auto place, std::uint64_t word, auto length) {
            if (found || std::memcmp(start + place, &word, length) == 0) {
                return;
            }
            const auto* const bytes = reinterpret_cast<const std::byte*>(&word);
            std::uint64_t index = 0;
            while (start[place + index] == bytes[index]) {
                ++index;
            }
            found = told("transfer", slot, place + index, bytes[index], start[place + index]);
        });
        if (found) {
            return found;
        }
        if (start[layout.size] != kGap) {
            return told("gap behind transfer", slot, layout.size, kGap, start[layout.size]);
        }
    }
    return std::nullopt;
}

} // namespace rdma_batch
