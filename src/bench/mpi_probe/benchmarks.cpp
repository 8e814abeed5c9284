#include "mpi_probe/benchmarks.hpp"

#include "mpi_probe/collectives.hpp"
#include "mpi_probe/measure.hpp"
#include "mpi_probe/point_to_point.hpp"

namespace mpi_probe {

namespace {

Benchmark point_to_point(std::string_view name, std::string_view title, Metric metric,
                         decltype(Benchmark::run) run) {
    return {name, title, metric, RankRule::ExactlyTwo, false, true, run};
}

Benchmark collective(std::string_view name, std::string_view title, decltype(Benchmark::run) run) {
    return {name, title, Metric::Latency, RankRule::AtLeastTwo, true, true, run};
}

std::vector<Benchmark> make_benchmarks() {
    std::vector<Benchmark> table = {
        point_to_point("latency", "Latency Test", Metric::Latency, run_latency),
        point_to_point("bw", "Bandwidth Test", Metric::Bandwidth, run_bw),
        point_to_point("bibw", "Bi-Directional Bandwidth Test", Metric::Bandwidth, run_bibw),
        point_to_point("mbw_mr", "Multiple Bandwidth / Message Rate Test", Metric::MessageRate,
                       run_mbw_mr),
        collective("allreduce", "Allreduce Latency Test", run_allreduce),
        collective("reduce", "Reduce Latency Test", run_reduce),
        collective("bcast", "Broadcast Latency Test", run_bcast),
        collective("alltoall", "All-to-All Personalized Exchange Latency Test", run_alltoall),
        collective("allgather", "Allgather Latency Test", run_allgather),
        collective("reduce_scatter", "Reduce_scatter Latency Test", run_reduce_scatter),
        collective("gather", "Gather Latency Test", run_gather),
        collective("scatter", "Scatter Latency Test", run_scatter),
        collective("barrier", "Barrier Latency Test", run_barrier),
    };
    for (Benchmark& benchmark : table) {
        if (benchmark.metric == Metric::MessageRate) {
            benchmark.ranks = RankRule::Even;
        }
        benchmark.has_sizes = benchmark.name != "barrier";
    }
    return table;
}

} // namespace

const std::vector<Benchmark>& all_benchmarks() {
    static const std::vector<Benchmark> table = make_benchmarks();
    return table;
}

} // namespace mpi_probe
