// The MPI job that this process is part of, and what to do when MPI fails.
#pragma once

#include "common/output.hpp"

#include <mpi.h>

#include <string>
#include <vector>

namespace bench {

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

/// Facts about the job. The vectors are filled on rank 0 only.
struct World {
    int rank = 0;
    int size = 1;
    std::string library;                   ///< first line of MPI_Get_library_version
    std::vector<std::string> hosts;        ///< unique, in rank order
    std::vector<double> clock_overhead_ns; ///< of each rank
};

/// MPI_Init, MPI_ERRORS_RETURN, and rank and size. `program` begins every message.
World start_world(const char* program, int* argc, char*** argv);

/// Gathers hosts and clock overheads to rank 0; collective.
void describe_world(World& world);

/// MPI_Finalize once every rank is out of MPI; collective. A rank whose MPI_Finalize does not
/// return leaves with `code` all the same.
void finish_world(int code);

} // namespace bench
