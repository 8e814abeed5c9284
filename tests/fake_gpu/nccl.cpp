// A libnccl.so.2 for tests: collectives of floats over shared memory, for ranks of one host.
// FAKE_NCCL says what goes wrong: "no id", "refuse" (the communicator is not made), and at the
// third operation "fail" (it returns an error), "error" (an asynchronous one), "hang" (its stream
// never ends), "stall" (the call never returns). Messages take their time, asleep, so that a busy
// host changes it little; those of the rank FAKE_NCCL_SLOW take ten times as long. With NCCL_DEBUG
// it tells what it was told.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using Pointer = unsigned long long;

extern "C" {
int cuMemcpyHtoD_v2(Pointer to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, Pointer from, std::size_t bytes);
void fake_cuda_hold();
}

namespace {

enum Result { kSuccess = 0, kSystemError = 2, kInvalidUsage = 5, kRemoteError = 6 };
constexpr std::size_t kMostBytes = std::size_t{64} << 20; ///< of all ranks' data together
constexpr int kFailingOperation = 3;

struct Id {
    char name[128];
};

constexpr int kMostRanks = 16;
constexpr useconds_t kPoll = 50; ///< microseconds between looks at a mailbox

struct Area {
    std::atomic<int> arrived;
    std::atomic<int> round;
    std::atomic<int> left;
    std::atomic<bool> posted[kMostRanks][kMostRanks]; ///< from, to: a message waits in its place
    char data[kMostBytes];
};

struct Communicator {
    Area* area;
    int rank;
    int ranks;
    int operations;
    bool failed;
};

struct Message {
    Pointer data;
    std::size_t bytes;
    int peer;
};

// What a group of sends and receives has gathered.
struct Group {
    Communicator* communicator = nullptr;
    std::vector<Message> sends;
    std::vector<Message> receives;
} group;

bool wrong(const char* what) {
    const char* const asked = std::getenv("FAKE_NCCL");
    return asked != nullptr && std::strcmp(asked, what) == 0;
}

void barrier(Communicator& own) {
    const int round = own.area->round;
    if (++own.area->arrived == own.ranks) {
        own.area->arrived = 0;
        ++own.area->round;
    }
    while (own.area->round == round) {
        sched_yield();
    }
}

char* place(const Communicator& own, int rank, std::size_t bytes) {
    return own.area->data + static_cast<std::size_t>(rank) * bytes;
}

// What goes wrong at the third operation.
int begin(Communicator& own) {
    ++own.operations;
    if (own.operations == kFailingOperation) {
        own.failed = wrong("error");
        if (wrong("hang") || own.failed) {
            fake_cuda_hold();
        }
        if (wrong("fail")) {
            return kSystemError;
        }
        while (wrong("stall")) {
            sched_yield();
        }
    }
    return kSuccess;
}

// Everyone's `bytes` lie in the area when `use` reads them.
template <class Use>
int operation(Communicator& own, Pointer send, std::size_t bytes, Use use) {
    if (const int error = begin(own); error != kSuccess) {
        return error;
    }
    if (bytes * static_cast<std::size_t>(own.ranks) > kMostBytes) {
        return kSystemError;
    }
    cuMemcpyDtoH_v2(place(own, own.rank, bytes), send, bytes);
    barrier(own);
    use();
    barrier(own);
    return kSuccess;
}

std::vector<float> sums(const Communicator& own, std::size_t first, std::size_t count,
                        std::size_t bytes) {
    std::vector<float> result(count);
    for (int rank = 0; rank < own.ranks; ++rank) {
        const auto* const values = reinterpret_cast<const float*>(place(own, rank, bytes)) + first;
        for (std::size_t index = 0; index < count; ++index) {
            result[index] += values[index];
        }
    }
    return result;
}

// The place of messages from one rank to another; waits until one is there, or none.
char* mailbox(Communicator& own, int from, int to, bool full) {
    while (own.area->posted[from][to] != full) {
        usleep(kPoll);
    }
    const auto ranks = static_cast<std::size_t>(own.ranks);
    const std::size_t number =
        static_cast<std::size_t>(from) * ranks + static_cast<std::size_t>(to);
    return own.area->data + number * (kMostBytes / ranks / ranks);
}

void take_time(const Communicator& own, std::size_t bytes) {
    const char* const slow = std::getenv("FAKE_NCCL_SLOW");
    const bool is_slow = slow != nullptr && std::atoi(slow) == own.rank;
    usleep(static_cast<useconds_t>((2000 + bytes / 250) * (is_slow ? 10 : 1)));
}

void give(Pointer receive, const std::vector<float>& values) {
    cuMemcpyHtoD_v2(receive, values.data(), values.size() * sizeof(float));
}

} // namespace

extern "C" {

int ncclGetVersion(int* version) {
    *version = 22809;
    return kSuccess;
}

const char* ncclGetErrorString(int result) {
    return result == kRemoteError ? "remote process exited or there was a network error"
                                  : "unhandled system error";
}

const char* ncclGetLastError(Communicator*) {
    return "said by the fake NCCL";
}

int ncclGetUniqueId(Id* id) {
    *id = {};
    if (wrong("no id")) {
        return kSystemError;
    }
    std::snprintf(id->name, sizeof id->name, "/fakenccl.%s.%d", std::getenv("FAKE_GPU_OWNER"),
                  getpid());
    return kSuccess;
}

int ncclCommInitRank(Communicator** result, int ranks, Id id, int rank) {
    if (wrong("refuse")) {
        return kInvalidUsage;
    }
    if (std::getenv("NCCL_DEBUG") != nullptr) {
        const char* const algorithm = std::getenv("NCCL_ALGO");
        const char* const host = std::getenv("NCCL_HOSTID");
        std::fprintf(stderr, "fakenccl: NCCL_ALGO %s NCCL_HOSTID %s\n",
                     algorithm == nullptr ? "" : algorithm, host == nullptr ? "" : host);
    }
    const int file = shm_open(id.name, O_CREAT | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, sizeof(Area)) != 0) {
        return kSystemError;
    }
    void* const memory = mmap(nullptr, sizeof(Area), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    *result = new Communicator{static_cast<Area*>(memory), rank, ranks, 0, false};
    barrier(**result);
    shm_unlink(id.name); // all ranks have it; nobody else shall
    return kSuccess;
}

int ncclCommGetAsyncError(Communicator* own, int* error) {
    *error = own->failed ? kRemoteError : kSuccess;
    return kSuccess;
}

int ncclCommDestroy(Communicator* own) {
    munmap(own->area, sizeof(Area));
    delete own;
    return kSuccess;
}

int ncclCommAbort(Communicator* own) {
    return ncclCommDestroy(own);
}

int ncclAllReduce(Pointer send, Pointer receive, std::size_t count, int, int, Communicator* own,
                  void*) {
    const std::size_t bytes = count * sizeof(float);
    return operation(*own, send, bytes, [=] { give(receive, sums(*own, 0, count, bytes)); });
}

int ncclReduce(Pointer send, Pointer receive, std::size_t count, int, int, int root,
               Communicator* own, void*) {
    const std::size_t bytes = count * sizeof(float);
    return operation(*own, send, bytes, [=] {
        if (own->rank == root) {
            give(receive, sums(*own, 0, count, bytes));
        }
    });
}

int ncclReduceScatter(Pointer send, Pointer receive, std::size_t count, int, int, Communicator* own,
                      void*) {
    const std::size_t bytes = count * static_cast<std::size_t>(own->ranks) * sizeof(float);
    return operation(*own, send, bytes, [=] {
        give(receive, sums(*own, count * static_cast<std::size_t>(own->rank), count, bytes));
    });
}

int ncclBroadcast(Pointer send, Pointer receive, std::size_t count, int, int root,
                  Communicator* own, void*) {
    const std::size_t bytes = count * sizeof(float);
    return operation(*own, send, bytes,
                     [=] { cuMemcpyHtoD_v2(receive, place(*own, root, bytes), bytes); });
}

int ncclAllGather(Pointer send, Pointer receive, std::size_t count, int, Communicator* own, void*) {
    const std::size_t bytes = count * sizeof(float);
    return operation(*own, send, bytes, [=] {
        cuMemcpyHtoD_v2(receive, own->area->data, bytes * static_cast<std::size_t>(own->ranks));
    });
}

int ncclGroupStart() {
    group = {};
    return kSuccess;
}

int ncclSend(Pointer send, std::size_t count, int, int peer, Communicator* own, void*) {
    group.communicator = own;
    group.sends.push_back({send, count * sizeof(float), peer});
    return kSuccess;
}

int ncclRecv(Pointer receive, std::size_t count, int, int peer, Communicator* own, void*) {
    group.communicator = own;
    group.receives.push_back({receive, count * sizeof(float), peer});
    return kSuccess;
}

int ncclGroupEnd() {
    Communicator& own = *group.communicator;
    if (const int error = begin(own); error != kSuccess) {
        return error;
    }
    const auto ranks = static_cast<std::size_t>(own.ranks);
    for (const Message& each : group.sends) {
        if (ranks > kMostRanks || each.bytes * ranks * ranks > kMostBytes) {
            return kSystemError;
        }
        cuMemcpyDtoH_v2(mailbox(own, own.rank, each.peer, false), each.data, each.bytes);
        take_time(own, each.bytes);
        own.area->posted[own.rank][each.peer] = true;
    }
    for (const Message& each : group.receives) {
        cuMemcpyHtoD_v2(each.data, mailbox(own, each.peer, own.rank, true), each.bytes);
        own.area->posted[each.peer][own.rank] = false;
    }
    return kSuccess;
}

} // extern "C"
