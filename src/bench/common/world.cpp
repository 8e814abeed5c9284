#include "common/world.hpp"

#include "common/clock.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

namespace bench {

namespace {

const char* program_name = "";

std::string library_line() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> buffer{};
    int length = 0;
    check(MPI_Get_library_version(buffer.data(), &length), "MPI_Get_library_version");
    std::string line(buffer.data());
    line.resize(std::min(line.find('\n'), line.size()));
    std::replace(line.begin(), line.end(), '\t', ' ');
    line.erase(line.find_last_not_of(" \r") + 1);
    return line;
}

std::vector<std::string> gather_hosts(const World& world) {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    check(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
    const bool root = world.rank == 0;
    std::vector<char> names(root ? name.size() * static_cast<std::size_t>(world.size) : 0);
    const int width = static_cast<int>(name.size());
    check(
        MPI_Gather(name.data(), width, MPI_CHAR, names.data(), width, MPI_CHAR, 0, MPI_COMM_WORLD),
        "MPI_Gather");
    std::vector<std::string> hosts;
    for (std::size_t start = 0; start < names.size(); start += name.size()) {
        const std::string host(&names[start]);
        if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) {
            hosts.push_back(host);
        }
    }
    return hosts;
}

// MPICH 4.0 closes its UCX endpoints in MPI_Finalize and then waits in a PMI barrier, where it no
// longer answers. Over TCP a close is a request that the peer must answer: a rank that still makes
// progress in MPI when another one begins to close may send its own request too late, and then
// hangs. So every rank is out of MPI before the first one finalizes, and a rank whose MPI_Finalize
// does not return all the same says so and leaves with its results, instead of holding the job
// until its time limit.
constexpr std::chrono::milliseconds kLongerThanATimeSlice{100};
constexpr unsigned kSecondsToFinalize = 10;
int exit_code_without_finalize = kSuccess;

std::string note_without_finalize;

extern "C" void leave_without_finalize(int /*signal*/) {
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, note_without_finalize.data(), note_without_finalize.size());
    _exit(exit_code_without_finalize);
}

} // namespace

void abort_job(const std::string& sentence) {
    int rank = -1;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)std::fprintf(stderr, "%s: rank %d: %s\n", program_name, rank, sentence.c_str());
    (void)std::fflush(nullptr);
    (void)MPI_Abort(MPI_COMM_WORLD, kFailure);
    std::abort(); // not reached: MPI_Abort does not return
}

void abort_mpi(const char* call, int error) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(error, text.data(), &length) != MPI_SUCCESS) {
        (void)std::snprintf(text.data(), text.size(), "error code %d", error);
    }
    abort_job(std::string(call) + " failed: " + text.data());
}

World start_world(const char* program, int* argc, char*** argv) {
    program_name = program;
    check(MPI_Init(argc, argv), "MPI_Init");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    World world;
    check(MPI_Comm_rank(MPI_COMM_WORLD, &world.rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &world.size), "MPI_Comm_size");
    return world;
}

void describe_world(World& world) {
    world.library = library_line();
    world.hosts = gather_hosts(world);
    const double overhead = bench::clock_overhead_ns([] { return MPI_Wtime(); });
    if (world.rank == 0) {
        world.clock_overhead_ns.resize(static_cast<std::size_t>(world.size));
    }
    check(MPI_Gather(&overhead, 1, MPI_DOUBLE, world.clock_overhead_ns.data(), 1, MPI_DOUBLE, 0,
                     MPI_COMM_WORLD),
          "MPI_Gather");
}

void finish_world(int code) {
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    std::this_thread::sleep_for(kLongerThanATimeSlice);
    static_cast<void>(std::fflush(nullptr));
    exit_code_without_finalize = code;
    note_without_finalize = std::string(program_name) + ": MPI_Finalize did not return within " +
                            std::to_string(kSecondsToFinalize) + " s\n";
    static_cast<void>(std::signal(SIGALRM, leave_without_finalize));
    alarm(kSecondsToFinalize);
    check(MPI_Finalize(), "MPI_Finalize");
    alarm(0);
}

} // namespace bench
