// mpi_matmul: the phases of a matrix multiplication on all ranks. How each number is measured:
// docs/reference/programs/mpi_matmul.md.
#include "common/gpu/library.hpp"
#include "common/interrupt.hpp"
#include "common/world.hpp"
#include "mpi_matmul/blas.hpp"
#include "mpi_matmul/report.hpp"
#include "mpi_matmul/requirement.hpp"

#include <memory>
#include <utility>

namespace mpi_matmul {

namespace {

using namespace bench;

// Until the last order, or the first that ends early; the signal that ended it, or 0.
int measure_orders(const World& world, const Options& options, Report& report, const Gpu* gpu) {
    for (const std::uint64_t n : options.orders) {
        const Result result = measure(world, options, n, gpu == nullptr ? nullptr : &gpu->cublas);
        if (world.rank == 0) {
            add(report, result);
        }
        if (result.ending != Result::Ending::Complete) {
            return result.ending == Result::Ending::Interrupted ? common_signal() : 0;
        }
    }
    return 0;
}

// The GPU of this rank with its cuBLAS, and an MPI that may be given its memory.
std::unique_ptr<Gpu> open_gpu(const World& world, const Options& options) {
    if (options.compute == Compute::Cpu) {
        return nullptr;
    }
    gpu::Device device = gpu::open_for_rank(world, options.gpu, gpu::Memory::Device);
    require_gpu_memory(world, options, device);
    std::unique_ptr<Gpu> found;
    std::string refusal;
    try {
        found = std::make_unique<Gpu>(std::move(device));
    } catch (const gpu::NoGpu& none) {
        refusal = none.what();
    }
    agree(world, refusal);
    if (options.path == Path::Aware) {
        gpu::require_aware_mpi(world, "mpi_matmul", "the transfers of the matrices",
                               gpu::Memory::Device);
    }
    return found;
}

int run(World& world, int argc, char** argv) {
    Options options = parse_options(argc, argv);
    if (answered(world, options.action, help_text())) {
        return kSuccess;
    }
    check_writable(world, options.json);
    require_memory(world, options);
    const std::unique_ptr<Gpu> gpu = open_gpu(world, options);
    describe_world(world);
    use_one_thread();
    watch_interrupts();

    const std::string crowded = oversubscription(world);
    Report report = begin_report(world, options, crowded, gpu.get());
    if (!crowded.empty()) {
        print(stderr, "mpi_matmul: warning: %s: times and rates are not those of the fabric\n",
              crowded.c_str());
    }
    const int signal = measure_orders(world, options, report, gpu.get());
    const std::size_t expected = phases_of(options).size() * options.orders.size();
    return world.rank == 0 ? report.end(options.json, table_of(options), expected, "phases", signal)
                           : kSuccess;
}

} // namespace

} // namespace mpi_matmul

int main(int argc, char** argv) {
    return bench::run_world("mpi_matmul", argc, argv, "the matrices do not fit; choose a smaller N",
                            mpi_matmul::run);
}
