// mpi_probe: MPI latency, bandwidth, message rate and collectives, with the methods and the table
// of the OSU micro-benchmarks. How each number is measured: docs/method.md.
#include "common/interrupt.hpp"
#include "common/output.hpp"
#include "common/world.hpp"
#include "mpi_probe/measure.hpp"
#include "mpi_probe/options.hpp"
#include "mpi_probe/report.hpp"

#include <cstdio>
#include <optional>
#include <string>

namespace mpi_probe {

namespace {

using namespace bench;

// Returns the size at which wrong data arrived, or nothing. `signal` ended it early if not 0.
std::optional<std::uint64_t> measure_sizes(const World& world, const Options& options,
                                           const Table& table, std::vector<SizeResult>& results,
                                           int& signal) {
    Context context{world, options, {}};
    for (const std::uint64_t size : options.sizes()) {
        SizeResult result = options.benchmark->run(context, size);
        const bool wrong = result.valid.has_value() && !*result.valid;
        if (world.rank == 0) {
            table.print_row(result);
            results.push_back(std::move(result));
        }
        if (wrong) {
            return size;
        }
        if ((signal = common_signal()) != 0) {
            break;
        }
    }
    return std::nullopt;
}

// Rank 0: the last line of the table, and the JSON. Returns its exit code.
int finish(const World& world, const Options& options, const Table& table,
           const std::vector<SizeResult>& results, std::optional<std::uint64_t> wrong_size,
           int signal) {
    if (wrong_size) {
        table.print_validation_error(*wrong_size);
    } else if (signal != 0) {
        table.print_interrupted(signal, results.size());
    } else {
        table.print_complete(results.size());
    }
    int code = wrong_size ? kFailure : kSuccess;
    if (signal != 0) {
        code = interrupted_code(signal);
    }
    return end_output("mpi_probe", options.json,
                      json_document(world, options, results, !wrong_size, signal), code);
}

int run(World& world, int argc, char** argv) {
    const Options options = parse_options(argc, argv);
    if (options.action != Action::Run) {
        if (world.rank == 0) {
            answer(options.action, help_text(), "mpi_probe " MPI_PROBE_VERSION "\n");
        }
        return kSuccess;
    }
    check_world_size(*options.benchmark, world.size);
    check_writable(world, options.json);
    describe_world(world);
    watch_interrupts();

    std::FILE* const stream = table_stream(options.json);
    const Table table(stream, world, options);
    std::vector<SizeResult> results;
    if (world.rank == 0) {
        table.print_head();
    }
    int signal = 0;
    const std::optional<std::uint64_t> wrong_size =
        measure_sizes(world, options, table, results, signal);
    int code = kSuccess;
    if (world.rank == 0) {
        code = finish(world, options, table, results, wrong_size, signal);
    }
    check(MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
    return code;
}

} // namespace

} // namespace mpi_probe

int main(int argc, char** argv) {
    return bench::run_world("mpi_probe", argc, argv,
                            "the buffers or samples do not fit; lower -m or -i", mpi_probe::run);
}
