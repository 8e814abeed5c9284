// nccl_probe: NCCL's collectives between the GPUs of all ranks. How each number is measured:
// docs/reference/programs/nccl_probe.md.
#include "common/gpu/job.hpp"
#include "common/interrupt.hpp"
#include "nccl_probe/report.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace nccl_probe {

namespace {

using namespace bench;

// Without --share-gpu, a GPU of its own for every rank: NCCL refuses others, or makes them wait for
// each other. `places` are known to rank 0.
void check_places(const World& world, const Options& options, std::vector<std::string> places) {
    std::string refusal;
    std::sort(places.begin(), places.end());
    const auto twice = std::adjacent_find(places.begin(), places.end());
    if (twice != places.end() && !options.share_gpu) {
        refusal = "several ranks have one GPU, " + *twice +
                  ": start as many ranks on a node as it has GPUs, or show with --share-gpu that "
                  "it works";
    }
    agree(world, refusal);
}

// What NCCL reads when it starts.
void set_environment(const World& world, const Options& options, const Nccl& nccl) {
    const std::string chosen = algorithm(options, nccl.version);
    // One thread, before NCCL has any.
    // NOLINTBEGIN(concurrency-mt-unsafe)
    if (!chosen.empty()) {
        (void)setenv("NCCL_ALGO", chosen.c_str(), 1);
    }
    if (options.share_gpu) {
        (void)setenv("NCCL_HOSTID", ("rank" + std::to_string(world.rank)).c_str(), 1);
    }
    // NOLINTEND(concurrency-mt-unsafe)
}

// Until the last size, the first with wrong data, or a signal, which it returns.
int measure_sizes(const World& world, const Options& options, const Nccl& nccl,
                  const gpu::NcclSession& session, Report& report) {
    Measurement measurement(world, options, nccl, session);
    for (const std::size_t count : options.counts(world.size)) {
        const Result result = measurement.measure(count);
        if (world.rank == 0) {
            report.add(row_of(options, world.size, result));
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

int run(World& world, int argc, char** argv) {
    Options options = parse_options(argc, argv);
    if (answered(world, options.action, help_text())) {
        return kSuccess;
    }
    check_ranks(options, world.size);
    check_writable(world, options.json);
    const gpu::Device device = gpu::open_for_rank(world, options.gpu, gpu::Memory::Device);
    describe_world(world);
    std::vector<std::string> places = gather(world, device.address);
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
        places[rank] += " of " + world.host_of_rank[rank];
    }
    check_places(world, options, std::move(places));
    const std::unique_ptr<Nccl> nccl = gpu::load_nccl(world);
    set_environment(world, options, *nccl);
    const gpu::NcclSession session(world, "nccl_probe", std::string(options.collective->name),
                                   options.time_limit, *nccl);
    watch_interrupts();

    Report report = begin_report(world, options, device, *nccl);
    const int signal = measure_sizes(world, options, *nccl, session, report);
    return world.rank == 0 ? report.end(options.json, table_of(options),
                                        options.counts(world.size).size(), "sizes", signal)
                           : kSuccess;
}

} // namespace

} // namespace nccl_probe

int main(int argc, char** argv) {
    return bench::run_world("nccl_probe", argc, argv, "the buffers do not fit; lower -m",
                            nccl_probe::run);
}
