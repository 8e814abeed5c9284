// The functions of NCCL that the programs use, in libnccl.so.2. Their declarations are those of
// nccl.h.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace bench::gpu {

/// NCCL, loaded. The constructor throws NoGpu.
struct Nccl {
    using Communicator = void*;
    using Stream = void*;
    /// Passed by value.
    struct Id {
        std::array<char, 128> bytes;
    };
    static constexpr int kFloat = 7; // ncclFloat32
    static constexpr int kSum = 0;   // ncclSum

    Nccl();

    int (*get_id)(Id* id);
    int (*initialize)(Communicator* result, int ranks, Id id, int rank);
    int (*async_error)(Communicator communicator, int* error);
    int (*destroy)(Communicator communicator);
    int (*abort)(Communicator communicator);
    int (*all_reduce)(const void* send, void* receive, std::size_t count, int type, int operation,
                      Communicator communicator, Stream stream);
    int (*reduce)(const void* send, void* receive, std::size_t count, int type, int operation,
                  int root, Communicator communicator, Stream stream);
    int (*reduce_scatter)(const void* send, void* receive, std::size_t count, int type,
                          int operation, Communicator communicator, Stream stream);
    int (*broadcast)(const void* send, void* receive, std::size_t count, int type, int root,
                     Communicator communicator, Stream stream);
    int (*all_gather)(const void* send, void* receive, std::size_t count, int type,
                      Communicator communicator, Stream stream);
    int (*send)(const void* send, std::size_t count, int type, int peer, Communicator communicator,
                Stream stream);
    int (*receive)(void* receive, std::size_t count, int type, int peer, Communicator communicator,
                   Stream stream);
    int (*group_start)();
    int (*group_end)();

    int version; ///< 22809 is 2.28.9

    /// "2.28.9"
    [[nodiscard]] std::string version_text() const;
    /// What NCCL says of an error, and of the last one in particular.
    [[nodiscard]] std::string error_text(int error) const;

  private:
    const char* (*text_of_)(int error);
    const char* (*last_error_)(Communicator communicator);
};

} // namespace bench::gpu
