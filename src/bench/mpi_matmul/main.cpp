// mpi_matmul: the phases of a matrix multiplication on all ranks. How each number is measured:
// docs/programs/mpi_matmul.md.
#include "common/interrupt.hpp"
#include "common/output.hpp"
#include "common/world.hpp"
#include "mpi_matmul/blas.hpp"
#include "mpi_matmul/measure.hpp"
#include "mpi_matmul/options.hpp"
#include "mpi_matmul/report.hpp"
#include "mpi_matmul/requirement.hpp"

#include <cstdio>
#include <string>
#include <utility>

namespace mpi_matmul {

namespace {

using namespace bench;

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

// Rank 0: the last line of the table, and the JSON. Returns its exit code.
int finish(const World& world, const Options& options, const Table& table,
           const std::vector<Result>& results, int signal) {
    table.print_end(results, signal);
    int code = results.back().ending == Result::Ending::Wrong ? kFailure : kSuccess;
    if (signal != 0) {
        code = interrupted_code(signal);
    }
    return end_output("mpi_matmul", options.json,
                      json_document(world, options, table.crowded(), results, signal), code);
}

int run(World& world, int argc, char** argv) {
    const Options options = parse_options(argc, argv);
    if (options.action != Action::Run) {
        if (world.rank == 0) {
            answer(options.action, help_text(), "mpi_matmul " MPI_MATMUL_VERSION "\n");
        }
        return kSuccess;
    }
    check_writable(world, options.json);
    require_memory(world, options);
    describe_world(world);
    use_one_thread();
    watch_interrupts();

    std::FILE* const stream = table_stream(options.json);
    const std::string crowded = oversubscription(world);
    const Table table(stream, world, options, crowded);
    if (world.rank == 0) {
        table.print_head();
        if (!crowded.empty()) {
            print(stderr, "mpi_matmul: warning: %s: times and rates are not those of the fabric\n",
                  crowded.c_str());
        }
    }
    const std::vector<Result> results = measure_orders(world, options, table);
    const bool early = results.back().ending == Result::Ending::Interrupted;
    const int signal = early ? common_signal() : 0;
    int code = kSuccess;
    if (world.rank == 0) {
        code = finish(world, options, table, results, signal);
    }
    check(MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
    return code;
}

} // namespace

} // namespace mpi_matmul

int main(int argc, char** argv) {
    return bench::run_world("mpi_matmul", argc, argv, "the matrices do not fit; choose a smaller N",
                            mpi_matmul::run);
}
