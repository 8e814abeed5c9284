#include "rdma_stream/ways.hpp"

#include <arpa/inet.h>
#include <cstring>

namespace rdma_stream {

namespace {

constexpr std::size_t kHeader = 8;

} // namespace

std::size_t content_offset(Method method) {
    return method == Method::Rdma ? 0 : kHeader;
}

void write_header(unsigned char* message, std::uint32_t stream, std::uint32_t number) {
    const std::array<std::uint32_t, 2> words = {htonl(stream), htonl(number)};
    std::memcpy(message, words.data(), kHeader);
}

Header read_header(const unsigned char* message) {
    std::array<std::uint32_t, 2> words{};
    std::memcpy(words.data(), message, kHeader);
    return {ntohl(words[0]), ntohl(words[1])};
}

} // namespace rdma_stream
