// Gives the core away when a rank polls its TCP sockets and finds nothing: for LD_PRELOAD.
//
// On the embedded testbed the ranks of several nodes share the cores of one machine. MPI polls
// without pause, so each message would wait until the scheduler ends the receiver's neighbour's
// time slice, some milliseconds. Open MPI yields when told to (mpi_yield_when_idle); MPICH 4.0 over
// UCX cannot. UCX's TCP transport polls with epoll_wait and no timeout, so that is where to wait.
//
// It waits for the sockets instead of yielding (sched_yield): eight ranks that yield to each other
// still keep two cores busy, and a message comes to its turn after those of all others. The wait
// has an end, because shared memory and timers need the rank too.
//
// Never used where each rank has a core of its own: nothing is interposed between MPI and the
// kernel in a measurement that is meant to be one.

#include <ctime>
#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>

extern "C" int epoll_wait(int epfd, epoll_event* events, int maxevents, int timeout) {
    using Wait = int (*)(int, epoll_event*, int, int);
    static const Wait wait = reinterpret_cast<Wait>(dlsym(RTLD_NEXT, "epoll_wait"));
    const int ready = wait(epfd, events, maxevents, timeout);
    if (ready != 0 || timeout != 0) {
        return ready;
    }
    constexpr timespec kLongest{0, 200'000};
    pollfd sockets{epfd, POLLIN, 0};
    return ppoll(&sockets, 1, &kLongest, nullptr) == 1 ? wait(epfd, events, maxevents, 0) : 0;
}
