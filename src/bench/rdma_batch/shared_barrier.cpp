#include "rdma_batch/shared_barrier.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/mman.h>

namespace rdma_batch {

SharedBarrier* SharedBarrier::make(unsigned processes) {
    void* const memory = mmap(nullptr, sizeof(SharedBarrier), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) { // NOLINT: the macro casts
        throw std::runtime_error(std::string("no memory to share between processes: ") +
                                 std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    return new (memory) SharedBarrier(processes);
}

SharedBarrier::SharedBarrier(unsigned processes) : processes_(processes) {
    pthread_barrierattr_t attributes;
    (void)pthread_barrierattr_init(&attributes);
    (void)pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    (void)pthread_barrier_init(&barrier_, &attributes, processes);
    (void)pthread_barrierattr_destroy(&attributes);
}

bool SharedBarrier::agree(unsigned rank, bool another) {
    std::atomic<bool>& answer = another_.at(turns_.at(rank)++ % 2);
    if (rank == 0) {
        answer = another;
    }
    if (processes_ > 1) {
        (void)pthread_barrier_wait(&barrier_);
    }
    return answer;
}

} // namespace rdma_batch
