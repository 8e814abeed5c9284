// In place of verbs_backend.cpp where libibverbs was not there to build with.
#include "common/arguments.hpp"
#include "rdma_stream/backends.hpp"

namespace rdma_stream {

namespace {

[[noreturn]] void refuse() {
    throw bench::UsageError("this rdma_stream was built without libibverbs: use --method mpi or "
                            "udp, or build it where libibverbs-dev is");
}

} // namespace

std::unique_ptr<Sender> verbs_sender(const Options& /*options*/) {
    refuse();
}

std::unique_ptr<Receiver> verbs_receiver(const Options& /*options*/, std::uint32_t /*streams*/) {
    refuse();
}

} // namespace rdma_stream
