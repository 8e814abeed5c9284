#include "nccl_probe/collectives.hpp"

namespace nccl_probe {

namespace {

int all_reduce(const Call& call) {
    return call.nccl.all_reduce(call.send, call.receive, call.count, Nccl::kFloat, Nccl::kSum,
                                call.communicator, call.stream);
}

int reduce(const Call& call) {
    return call.nccl.reduce(call.send, call.receive, call.count, Nccl::kFloat, Nccl::kSum, kRoot,
                            call.communicator, call.stream);
}

int broadcast(const Call& call) {
    return call.nccl.broadcast(call.send, call.receive, call.count, Nccl::kFloat, kRoot,
                               call.communicator, call.stream);
}

int all_gather(const Call& call) {
    return call.nccl.all_gather(call.send, call.receive, call.count, Nccl::kFloat,
                                call.communicator, call.stream);
}

int reduce_scatter(const Call& call) {
    return call.nccl.reduce_scatter(call.send, call.receive, call.count, Nccl::kFloat, Nccl::kSum,
                                    call.communicator, call.stream);
}

// As nccl-tests: NCCL had no collective of that name before 2.28.
int all_to_all(const Call& call) {
    int error = call.nccl.group_start();
    const std::size_t block = call.count * sizeof(float);
    for (int peer = 0; peer < call.ranks && error == 0; ++peer) {
        const std::size_t offset = block * static_cast<std::size_t>(peer);
        error = call.nccl.send(call.send + offset, call.count, Nccl::kFloat, peer,
                               call.communicator, call.stream);
        error = error != 0 ? error
                           : call.nccl.receive(call.receive + offset, call.count, Nccl::kFloat,
                                               peer, call.communicator, call.stream);
    }
    const int ended = call.nccl.group_end();
    return error != 0 ? error : ended;
}

} // namespace

const std::vector<Collective>& all_collectives() {
    static const std::vector<Collective> table = {
        {"allreduce", "allreduce", true, false, false, false, false, true, all_reduce},
        {"reduce", "reduce", true, false, false, false, true, false, reduce},
        {"bcast", "broadcast", false, false, false, false, false, false, broadcast},
        {"allgather", "allgather", false, true, false, true, false, false, all_gather},
        {"reduce_scatter", "reducescatter", true, true, true, false, false, false, reduce_scatter},
        {"alltoall", "", false, true, true, true, false, false, all_to_all},
    };
    return table;
}

std::size_t block_count(const Collective& collective, std::uint64_t size, int ranks) {
    return size / sizeof(float) / (collective.divided ? static_cast<std::size_t>(ranks) : 1);
}

std::uint64_t size_of(const Collective& collective, std::size_t count, int ranks) {
    return count * sizeof(float) * (collective.divided ? static_cast<std::size_t>(ranks) : 1);
}

double bus_factor(const Collective& collective, int ranks) {
    const double part = static_cast<double>(ranks - 1) / ranks;
    if (collective.divided) {
        return part;
    }
    return collective.name == "allreduce" ? 2.0 * part : 1.0;
}

} // namespace nccl_probe
