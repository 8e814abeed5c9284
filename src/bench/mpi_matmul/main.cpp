// mpi_matmul: the phases of a matrix multiplication on all ranks. How each number is measured:
// docs/programs/mpi_matmul.md.
#include "common/arguments.hpp"
#include "common/interrupt.hpp"
#include "common/output.hpp"
#include "common/world.hpp"
#include "mpi_matmul/blas.hpp"
#include "mpi_matmul/measure.hpp"
#include "mpi_matmul/options.hpp"
#include "mpi_matmul/report.hpp"
#include "mpi_matmul/requirement.hpp"

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace mpi_matmul {

namespace {

using namespace bench;

// Rank 0 tells the user; every rank returns the same code, so that none waits for another.
int refuse(const World& world, const std::string& sentence) {
    if (world.rank == 0) {
        (void)std::fprintf(stderr, "mpi_matmul: %s\n", sentence.c_str());
    }
    return kUsage;
}

// Only rank 0 writes, so only it can tell; the others hear it.
void check_json_path(const World& world, const Options& options) {
    const std::string reason = world.rank == 0 ? why_not_writable(options.json) : std::string();
    int refused = reason.empty() ? 0 : 1;
    check(MPI_Bcast(&refused, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
    if (refused != 0) {
        throw UsageError("option --json: " + options.json + " cannot be written: " + reason);
    }
}

// Until the last order, or the first that ends early.
std::vector<Result> measure_orders(const World& world, const Options& options, const Table& table) {
    std::vector<Result> results;
    for (const std::uint64_t n : options.orders) {
        results.push_back(measure(world, options, n));
        if (world.rank == 0) {
            table.print_result(results.back());
        }
        if (results.back().ending != Result::Ending::Complete) {
            break;
        }
    }
    return results;
}

// The signal may have come to one rank only.
int common_signal() {
    const int own = interrupted_by();
    int any = 0;
    check(MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
    return any;
}

// Rank 0: the last line of the table, and the JSON. Returns its exit code.
int finish(const World& world, const Options& options, const Table& table, std::FILE* stream,
           const std::vector<Result>& results, int signal) {
    table.print_end(results, signal);
    int code = results.back().ending == Result::Ending::Wrong ? kFailure : kSuccess;
    if (signal != 0) {
        code = interrupted_code(signal);
    }
    if (std::fflush(stream) != 0 || std::ferror(stream) != 0) {
        (void)std::fprintf(stderr, "mpi_matmul: the table could not be written\n");
        code = kFailure;
    }
    if (!options.json.empty()) {
        const std::string reason =
            write_file(options.json, json_document(world, options, results, signal));
        if (!reason.empty()) {
            (void)std::fprintf(stderr, "mpi_matmul: %s could not be written: %s\n",
                               options.json.c_str(), reason.c_str());
            code = kFailure;
        }
    }
    return code;
}

int run(World& world, int argc, char** argv) {
    const Options options = parse_options(argc, argv);
    if (options.action != Options::Action::Run) {
        if (world.rank == 0) {
            const bool help = options.action == Options::Action::Help;
            (void)std::fputs(help ? help_text().c_str() : "mpi_matmul " MPI_MATMUL_VERSION "\n",
                             stdout);
        }
        return kSuccess;
    }
    check_json_path(world, options);
    require_memory(world, options);
    describe_world(world);
    use_one_thread();
    watch_interrupts();

    std::FILE* const stream = options.json == "-" ? stderr : stdout;
    const Table table(stream, world, options);
    if (world.rank == 0) {
        table.print_head();
    }
    const std::vector<Result> results = measure_orders(world, options, table);
    const bool early = results.back().ending == Result::Ending::Interrupted;
    const int signal = early ? common_signal() : 0;
    int code = kSuccess;
    if (world.rank == 0) {
        code = finish(world, options, table, stream, results, signal);
    }
    check(MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
    return code;
}

} // namespace

} // namespace mpi_matmul

int main(int argc, char** argv) {
    using namespace mpi_matmul;
    World world = start_world("mpi_matmul", &argc, &argv);
    int code = kSuccess;
    try {
        code = run(world, argc, argv);
    } catch (const bench::UsageError& error) {
        code = refuse(world, error.what());
    } catch (const std::bad_alloc&) {
        abort_job("out of memory: the matrices do not fit; choose a smaller N");
    } catch (const std::exception& error) {
        abort_job(error.what());
    }
    finish_world(code);
    return code;
}
