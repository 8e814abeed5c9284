// What messages hold when their content is looked at.
#pragma once

#include "rdma_stream/options.hpp"

#include <cstddef>
#include <cstdint>

namespace rdma_stream {

/// Writes the content of message `number`; nothing for throughput.
void fill_content(Test test, std::uint64_t number, unsigned char* content, std::size_t bytes);

/// Whether the content is that of message `number`; always for throughput.
bool is_content(Test test, std::uint64_t number, const unsigned char* content, std::size_t bytes);

} // namespace rdma_stream
