// mpi_matmul: the phases of a matrix multiplication on all ranks. How each number is measured:
// docs/programs/mpi_matmul.md.
#include "common/interrupt.hpp"
#include "common/world.hpp"
#include "mpi_matmul/blas.hpp"
#include "mpi_matmul/report.hpp"
#include "mpi_matmul/requirement.hpp"

namespace mpi_matmul {

namespace {

using namespace bench;

// Until the last order, or the first that ends early; the signal that ended it, or 0.
int measure_orders(const World& world, const Options& options, Report& report) {
    for (const std::uint64_t n : options.orders) {
        const Result result = measure(world, options, n);
        if (world.rank == 0) {
            add(report, result);
        }
        if (result.ending != Result::Ending::Complete) {
            return result.ending == Result::Ending::Interrupted ? common_signal() : 0;
        }
    }
    return 0;
}

int run(World& world, int argc, char** argv) {
    Options options = parse_options(argc, argv);
    if (answered(world, options.action, help_text())) {
        return kSuccess;
    }
    check_writable(world, options.json);
    require_memory(world, options);
    describe_world(world);
    use_one_thread();
    watch_interrupts();

    const std::string crowded = oversubscription(world);
    Report report = begin_report(world, options, crowded);
    if (!crowded.empty()) {
        print(stderr, "mpi_matmul: warning: %s: times and rates are not those of the fabric\n",
              crowded.c_str());
    }
    const int signal = measure_orders(world, options, report);
    const std::size_t expected = kPhases * options.orders.size();
    return world.rank == 0 ? report.end(options.json, table_of(options), expected, "phases", signal)
                           : kSuccess;
}

} // namespace

} // namespace mpi_matmul

int main(int argc, char** argv) {
    return bench::run_world("mpi_matmul", argc, argv, "the matrices do not fit; choose a smaller N",
                            mpi_matmul::run);
}
