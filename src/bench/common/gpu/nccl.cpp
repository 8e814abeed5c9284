#include "common/gpu/nccl.hpp"

#include "common/gpu/library.hpp"

namespace bench::gpu {

Nccl::Nccl() {
    const Library library({"libnccl.so.2"},
                          "NCCL is what is measured; put its folder into LD_LIBRARY_PATH");
    int (*get_version)(int* number) = nullptr;
    library.find(get_version, "ncclGetVersion");
    library.find(get_id, "ncclGetUniqueId");
    library.find(initialize, "ncclCommInitRank");
    library.find(async_error, "ncclCommGetAsyncError");
    library.find(destroy, "ncclCommDestroy");
    library.find(abort, "ncclCommAbort");
    library.find(all_reduce, "ncclAllReduce");
    library.find(reduce, "ncclReduce");
    library.find(reduce_scatter, "ncclReduceScatter");
    library.find(broadcast, "ncclBroadcast");
    library.find(all_gather, "ncclAllGather");
    library.find(send, "ncclSend");
    library.find(receive, "ncclRecv");
    library.find(group_start, "ncclGroupStart");
    library.find(group_end, "ncclGroupEnd");
    library.find(text_of_, "ncclGetErrorString");
    library.find(last_error_, "ncclGetLastError");
    (void)get_version(&version);
}

std::string Nccl::version_text() const {
    constexpr int kMajor = 10'000;
    constexpr int kMinor = 100;
    return std::to_string(version / kMajor) + "." + std::to_string(version % kMajor / kMinor) +
           "." + std::to_string(version % kMinor);
}

std::string Nccl::error_text(int error) const {
    const std::string last = last_error_(nullptr);
    return text_of_(error) + (last.empty() ? std::string() : " (" + last + ")");
}

} // namespace bench::gpu
