#include "rdma_stream/payload.hpp"

#include <algorithm>

namespace rdma_stream {

namespace {

constexpr unsigned char kOne = 1;

// Increment: byte i of message n is n + i, so neighbours in a message and in the stream differ.
unsigned char counted(std::uint64_t number, std::size_t index) {
    return static_cast<unsigned char>(number + index);
}

} // namespace

void fill_content(Test test, std::uint64_t number, unsigned char* content, std::size_t bytes) {
    if (test == Test::Ones) {
        std::fill_n(content, bytes, kOne);
    } else if (test == Test::Increment) {
        for (std::size_t index = 0; index < bytes; ++index) {
            content[index] = counted(number, index);
        }
    }
}

bool is_content(Test test, std::uint64_t number, const unsigned char* content, std::size_t bytes) {
    if (test == Test::Ones) {
        return std::all_of(content, content + bytes,
                           [](unsigned char byte) { return byte == kOne; });
    }
    if (test == Test::Increment) {
        for (std::size_t index = 0; index < bytes; ++index) {
            if (content[index] != counted(number, index)) {
                return false;
            }
        }
    }
    return true;
}

} // namespace rdma_stream
