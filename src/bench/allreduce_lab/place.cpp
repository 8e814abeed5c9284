#include "allreduce_lab/place.hpp"

#include <sched.h>
#include <thread>

namespace allreduce_lab {

namespace {

constexpr unsigned kFewestCores = 4;
constexpr int kPriority = 10;

void take_core(std::uint64_t core, bool relaxed) {
    const unsigned cores = std::thread::hardware_concurrency();
    if (relaxed && (core >= cores || cores < kFewestCores)) {
        return;
    }
    if (cores < kFewestCores || core >= cores) {
        throw bench::UsageError("option --tr-threads-offset: core " + std::to_string(core) +
                                " of " + std::to_string(cores) + " cores was asked for, and " +
                                std::to_string(kFewestCores) +
                                " cores are needed at least: name another, or add --relaxed");
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_ISSET(core, &set) &&
        static_cast<unsigned>(CPU_COUNT(&set)) < cores) {
        throw bench::UsageError("option --tr-threads-offset: core " + std::to_string(core) +
                                " is among those that taskset gave the training: choose one "
                                "beside them");
    }
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

} // namespace

bool take_place(const Options& options) {
    if (options.core) {
        take_core(*options.core, options.relaxed);
    }
    const sched_param urgent{kPriority};
    return options.realtime && sched_setscheduler(0, SCHED_RR, &urgent) == 0;
}

} // namespace allreduce_lab
