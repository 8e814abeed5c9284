// The MPI job that this process is part of, and what to do when MPI fails.
#pragma once

#include "common/options.hpp"
#include "common/report.hpp"

#include <mpi.h>

#include <string>
#include <vector>

namespace bench {

/// Ends the whole job with exit code 1, and passes on first what this rank has printed. A rank that
/// leaves by itself would leave the code to its launcher: of MPICH's it is sometimes the signal by
/// which the launcher ended the others. For handlers of signals too, where nothing better is left.
[[noreturn]] void end_job();

/// Ends the whole job with exit code 1 after one sentence on standard error. For faults that only
/// this rank may see: the others must not wait for it.
[[noreturn]] void abort_job(const std::string& sentence);

/// Ends the whole job and names the MPI call that failed.
[[noreturn, gnu::cold, gnu::noinline]] void abort_mpi(const char* call, int error);

/// Checks the error code of an MPI call.
inline void check(int error, const char* call) {
    if (__builtin_expect(static_cast<long>(error != MPI_SUCCESS), 0) != 0) {
        abort_mpi(call, error);
    }
}

/// Ends the whole job and names the request that failed. `error` is what MPI_Waitall returned.
[[noreturn, gnu::cold, gnu::noinline]] void abort_wait(int error, int count,
                                                       const MPI_Status* statuses);

/// Waits for all requests. `statuses` has room for each of them: MPI_Waitall itself does not say
/// what went wrong.
inline void wait_all(int count, MPI_Request* requests, MPI_Status* statuses) {
    const int error = MPI_Waitall(count, requests, statuses);
    if (__builtin_expect(static_cast<long>(error != MPI_SUCCESS), 0) != 0) {
        abort_wait(error, count, statuses);
    }
}

/// Facts about the job. The vectors are filled on rank 0 only.
struct World {
    int rank = 0;
    int size = 1;
    std::string library;                   ///< first line of MPI_Get_library_version
    std::vector<std::string> host_of_rank; ///< of each rank
    std::vector<double> clock_overhead;    ///< seconds, of each rank
};

/// The main function of a program of MPI: starts the world, calls `run` and finishes it. Ranks that
/// were started with different words are refused before that, so that what `run` finds in its
/// options is the same on all of them. The exit code is what it returns on rank 0. It may throw
/// UsageError, on all ranks alike, which rank 0 tells the user; anything else that it throws ends
/// the whole job. `program` begins every message, `when_out_of_memory` says what to do then.
int run_world(const char* program, int argc, char** argv, const char* when_out_of_memory,
              int (*run)(World& world, int argc, char** argv));

/// Throws UsageError on all ranks if --json's file cannot be written, which only rank 0 can tell.
void check_writable(const World& world, const std::string& json);

/// Throws UsageError on all ranks if one of them has a refusal: that of the lowest rank, with its
/// host. Collective; empty is no refusal.
void agree(const World& world, const std::string& refusal);

/// Whether the request is over within so many seconds. Else it is still under way.
bool wait_within(MPI_Request& request, double seconds);

/// A barrier with an end: after so many seconds it ends the job with one sentence that names the
/// ranks which "did not come to `where`". Collective.
void meet(const World& world, const std::string& where, double seconds);

/// The signal that any rank got (see interrupted_by); collective.
int common_signal();

/// Prints on rank 0 what the command line asks for instead of a run; whether it does.
bool answered(const World& world, Action action, const std::string& help);

/// The name of this rank's host, as MPI tells it.
std::string own_host();

/// The text of each rank on rank 0, at most 255 bytes of it; nothing on the others. Collective.
std::vector<std::string> gather(const World& world, const std::string& text);

/// Gathers hosts and clock overheads to rank 0; collective.
void describe_world(World& world);

/// How a program of MPI begins: answers what the command line asks for instead of a run, and then
/// returns false. Else it sees that --json's file can be written, describes the world, lets any
/// rank refuse with what `refusal` says of it, and watches for interrupts. Collective.
bool begins(World& world, const CommonOptions& options, const std::string& help,
            std::string (*refusal)(const World& world));

/// Tells ranks, hosts, MPI and clock, as far as describe_world has gathered them.
void add_facts(Report& report, const World& world);

} // namespace bench
