// mpi_probe: MPI latency, bandwidth, message rate and collectives, with the methods and the table
// of the OSU micro-benchmarks. How each number is measured: docs/explanation/method.md.
#include "common/gpu/job.hpp"
#include "common/interface.hpp"
#include "common/interrupt.hpp"
#include "common/world.hpp"
#include "mpi_probe/measure.hpp"
#include "mpi_probe/options.hpp"
#include "mpi_probe/report.hpp"

namespace mpi_probe {

namespace {

using namespace bench;

// Until the last size, the first with wrong data, or a signal, which it returns.
int measure_sizes(const World& world, const Options& options, Report& report) {
    Context context{world, options, {}};
    for (const std::uint64_t size : options.sizes()) {
        const std::optional<std::uint64_t> before = tcp_segments();
        SizeResult result = options.benchmark->run(context, size);
        if (const std::optional<std::uint64_t> after = tcp_segments(); before && after) {
            result.segments = *after - *before;
        }
        if (world.rank == 0) {
            report.add(row_of(options, result));
        }
        if (!result.valid.value_or(true)) {
            return 0;
        }
        if (const int signal = common_signal(); signal != 0) {
            return signal;
        }
    }
    return 0;
}

// The GPU of this rank, if one is asked for, in whose memory this MPI can be trusted.
std::optional<gpu::Device> open_gpu(const World& world, const Options& options) {
    if (!options.uses_gpu()) {
        return std::nullopt;
    }
    gpu::Device device = gpu::open_for_rank(world, options.gpu, options.buffer);
    if (options.path == Path::Aware) {
        gpu::require_aware_mpi(world, "mpi_probe", std::string(options.benchmark->name),
                               options.buffer);
    }
    return device;
}

int run(World& world, int argc, char** argv) {
    Options options = parse_options(argc, argv);
    if (answered(world, options.action, help_text())) {
        return kSuccess;
    }
    check_world_size(*options.benchmark, world.size);
    check_writable(world, options.json);
    const std::optional<gpu::Device> device = open_gpu(world, options);
    describe_world(world);
    watch_interrupts();

    Report report = begin_report(world, options, device);
    const int signal = measure_sizes(world, options, report);
    return world.rank == 0 ? report.end(options.json, table_of(options), options.sizes().size(),
                                        "sizes", signal)
                           : kSuccess;
}

} // namespace

} // namespace mpi_probe

int main(int argc, char** argv) {
    return bench::run_world("mpi_probe", argc, argv,
                            "the buffers or samples do not fit; lower -m or -i", mpi_probe::run);
}
