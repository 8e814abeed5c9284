#include "common/network_order.hpp"
#include "rdma_stream/backends.hpp"

namespace rdma_stream {

std::size_t content_offset(Method method) {
    return method == Method::Rdma ? 0 : sizeof(Header);
}

void write_header(unsigned char* message, std::uint32_t stream, std::uint32_t number) {
    (void)bench::put(bench::put(message, stream), number);
}

Header read_header(const unsigned char* message) {
    Header header{};
    (void)bench::take(bench::take(message, header.stream), header.number);
    return header;
}

} // namespace rdma_stream
