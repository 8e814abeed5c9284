// What messages can travel by: MPI, UDP or verbs. Each function throws bench::UsageError for what
// an option can cure, and gives an end that still has to be connected.
#pragma once

#include "rdma_stream/stream.hpp"

#include <memory>

namespace rdma_stream {

/// Bytes of a message before its content: the number, where no immediate carries it.
std::size_t content_offset(Method method);

/// SEND with immediate over verbs, the immediate being the number. Without libibverbs at build time
/// they refuse with a UsageError.
std::unique_ptr<Sender> verbs_sender(const Options& options);
std::unique_ptr<Receiver> verbs_receiver(const Options& options, std::uint32_t streams);

/// Datagrams of UDP, one a message; bytes 0-3 tell the stream, 4-7 the number.
std::unique_ptr<Sender> udp_sender(const Options& options);
std::unique_ptr<Receiver> udp_receiver(const Options& options, std::uint32_t streams);

/// Messages of MPI; bytes 4-7 tell the number. `peer` is the other side's rank; the receiver's
/// streams come from ranks first, first + step, ...
std::unique_ptr<Sender> mpi_sender(const Options& options, int peer);
std::unique_ptr<Receiver> mpi_receiver(const Options& options, std::uint32_t streams, int first,
                                       int step);

/// The number in network order at bytes 4 to 7 of a message, below a word that tells the stream.
void write_header(unsigned char* message, std::uint32_t stream, std::uint32_t number);
struct Header {
    std::uint32_t stream;
    std::uint32_t number;
};
Header read_header(const unsigned char* message);

/// What is no number of any stream.
constexpr std::uint64_t kForeign = ~std::uint64_t{0};

} // namespace rdma_stream
