// rdma_stream: streams of numbered messages, counted exactly. How each number is measured:
// docs/reference/programs/rdma_stream.md.
#include "common/interrupt.hpp"
#include "common/world.hpp"
#include "rdma_stream/backends.hpp"
#include "rdma_stream/job.hpp"
#include "rdma_stream/report.hpp"
#include "rdma_stream/stream.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace rdma_stream {

namespace {

using namespace bench;

void keep_failure(Side& side, const std::string& failure) {
    (void)std::snprintf(side.failure.data(), side.failure.size(), "%s", failure.c_str());
}

// Seconds until what both sides of a stream still have to say must be said.
double word_patience(const Options& options) {
    return 2 * options.timeout + 1.0;
}

// The other ranks' streams are as long as this one's, but may have a slower path.
void meet_at_end(const World& world, const Options& options, double begin) {
    constexpr double kSlower = 10.0;
    meet(world, "the end of the streams", word_patience(options) + kSlower * (MPI_Wtime() - begin));
}

std::vector<Side> stream_out(const World& world, const Options& options, const Role& role,
                             std::size_t content_bytes) {
    const auto sender = connected_sender(world, options, role);
    ReceiverWord word(role.receiver());
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    const double begin = MPI_Wtime();
    const Sent sent = transmit(*sender, options, content_bytes, [&word] { return word.gave_up(); });
    tell_end(role.receiver(), sent);
    Side side;
    side.mtu = sender->mtu();
    side.elapsed = sent.elapsed;
    side.cpu = sent.cpu;
    side.messages = sent.completed;
    side.numbers = sent.numbers;
    keep_failure(side, sent.failure);
    // Receivers may still wait for what is on its way: the sockets and queue pairs stay until then.
    meet_at_end(world, options, begin);
    word.finish();
    return {side};
}

std::vector<Side> stream_in(const World& world, const Options& options, const Role& role,
                            std::size_t content_bytes) {
    const auto receiver = connected_receiver(world, options, role);
    double cpu = 0.0;
    MpiEnds ends(role, role.streams());
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    const double begin = MPI_Wtime();
    const std::vector<Received> streams =
        receive(*receiver, ends, options, role.streams(), content_bytes, cpu);
    ends.close(streams, word_patience(options));
    meet_at_end(world, options, begin);
    std::vector<Side> sides;
    for (const Received& stream : streams) {
        Side& side = sides.emplace_back();
        side.elapsed = stream.elapsed;
        side.cpu = cpu;
        side.messages = stream.sequence.received();
        side.duplicates = stream.sequence.duplicates();
        side.out_of_order = stream.sequence.out_of_order();
        side.foreign = stream.sequence.foreign();
        side.wrong = stream.wrong;
        side.end = stream.sequence.end();
        keep_failure(side, stream.failure);
    }
    return sides;
}

int run(World& world, int argc, char** argv) {
    Options options = parse_options(argc, argv);
    if (answered(world, options.action, help_text())) {
        return kSuccess;
    }
    check_world_size(options, world.size);
    check_writable(world, options.json);
    describe_world(world);
    watch_interrupts();

    const Role role(options, world.rank);
    const std::size_t content_bytes = options.message_size - content_offset(options.method);
    const std::vector<Side> sides = role.receives()
                                        ? stream_in(world, options, role, content_bytes)
                                        : stream_out(world, options, role, content_bytes);
    const std::vector<Stream> streams = gather_streams(world, options, sides);
    const int signal = common_signal();
    return world.rank == 0 ? tell(world, options, streams, signal) : kSuccess;
}

} // namespace

} // namespace rdma_stream

int main(int argc, char** argv) {
    return bench::run_world("rdma_stream", argc, argv,
                            "the slots of all streams do not fit; lower --num-blks, --num-cmsgs or "
                            "--msg-size",
                            rdma_stream::run);
}
