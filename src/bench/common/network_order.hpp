// Whole numbers as bytes in network order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

/// Writes the number there, most significant byte first; returns the place behind it.
template <class Byte, class Whole>
Byte* put(Byte* at, Whole number) {
    for (std::size_t byte = sizeof number; byte-- > 0;) {
        *at++ = static_cast<Byte>(std::uint64_t{number} >> (8 * byte));
    }
    return at;
}

/// Reads the number that `put` wrote there; returns the place behind it.
template <class Byte, class Whole>
const Byte* take(const Byte* at, Whole& number) {
    std::uint64_t whole = 0;
    for (std::size_t byte = 0; byte < sizeof number; ++byte) {
        whole = whole << 8U | static_cast<std::uint8_t>(*at++);
    }
    number = static_cast<Whole>(whole);
    return at;
}

} // namespace bench
