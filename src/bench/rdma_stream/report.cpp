#include "rdma_stream/report.hpp"

#include <algorithm>
#include <limits>

namespace rdma_stream {

namespace {

using bench::print;

struct Run {
    const Options& options;
    const std::vector<std::string>& host_of_rank;
    const std::vector<Stream>& streams;
};

unsigned long long plain(std::uint64_t number) {
    return number;
}

const char* host(const Run& run, int rank) {
    return run.host_of_rank[static_cast<std::size_t>(rank)].c_str();
}

void print_shapes(std::FILE* stream, const Run& run) {
    const Options& options = run.options;
    for (int rank = 0; rank < options.receivers; ++rank) {
        const auto streams =
            std::count_if(run.streams.begin(), run.streams.end(),
                          [rank](const Stream& each) { return each.receiver == rank; });
        print(stream, "%s, rdma_buffers for receiver shape is (%ld, %u, %u, %u)\n", host(run, rank),
              static_cast<long>(streams), options.blocks, options.messages_per_block,
              options.message_size);
    }
    for (int rank = 0; rank < options.transmitters; ++rank) {
        print(stream, "%s, rdma_buffers for transmitter shape is (%u, %u, %u)\n",
              host(run, options.receivers + rank), options.blocks, options.messages_per_block,
              options.message_size);
    }
}

// Word for word what the program of SEREN prints, so that what reads its output reads this too.
void print_lines(std::FILE* stream, const Options& options, const Stream& each) {
    const int transmitter = each.transmitter - options.receivers;
    print(stream, "Rank %d transmitter elapsed time is %.9f seconds\n", transmitter,
          each.sent.elapsed);
    print(stream, "Rank %d transmitter data rate is %.9g Gbps\n", transmitter,
          bench::kToGiga * bits_per_second(options, each.sent));
    const std::string side = "Rank " + std::to_string(each.receiver) +
                             " receiver from transmitter " + std::to_string(each.number);
    print(stream, "%s, elapsed time is %.9f seconds\n", side.c_str(), each.received.elapsed);
    print(stream, "%s, data rate is %.9g Gbps\n", side.c_str(),
          bench::kToGiga * bits_per_second(options, each.received));
    print(stream, "%s, message missed is %llu\n", side.c_str(), plain(each.missed()));
    print(stream, "%s, message received is %llu\n", side.c_str(), plain(each.received.messages));
    print(stream, "%s, message total is %llu\n", side.c_str(), plain(each.sent.numbers));
    print(stream, "%s, message loss rate is %.9g\n", side.c_str(), loss_rate(each));
}

// Of all connections, since one of them is enough to be slower.
unsigned smallest_mtu(const std::vector<Stream>& streams) {
    unsigned smallest = std::numeric_limits<unsigned>::max();
    for (const Stream& each : streams) {
        smallest = std::min(smallest, each.sent.mtu);
    }
    return smallest;
}

std::vector<bench::Column> columns() {
    constexpr double kToMicro = bench::kToMicro;
    constexpr double kToGiga = bench::kToGiga;
    return {{"Rx", -4, "receiver"},
            {"Host", -16, "receiver_host"},
            {"Tx", -4, "transmitter"},
            {"Host", -16, "transmitter_host"},
            {"Elapsed(s)", 12, "elapsed", {}, 1, 6},
            {"Rx(Gbit/s)", 11, "receive_rate", {}, kToGiga, 4},
            {"Tx(Gbit/s)", 11, "send_rate", {}, kToGiga, 4},
            {"Missed", 10, "missed"},
            {"Trailing", 10, "trailing"},
            {"Received", 10, "received"},
            {"Total", 10, "total"},
            {"Repeated", 10, "repeated"},
            {"Disordered", 10, "disordered"},
            {"Wrong", 10, "wrong"},
            {"Loss rate", 12, "loss_rate", {}, 1, bench::kSixDigits},
            {"Rx(us)", 9, "receive_cpu", {}, kToMicro, 3},
            {"Tx(us)", 9, "send_cpu", {}, kToMicro, 3}};
}

bench::Row row_of(const Run& run, const Stream& each) {
    const Options& options = run.options;
    const auto rank = [](int number) { return static_cast<std::uint64_t>(number); };
    const bool looked_at = options.test != Test::Throughput;
    return {{"receiver", rank(each.receiver), "1"},
            {"receiver_host", std::string(host(run, each.receiver))},
            {"transmitter", rank(each.transmitter), "1"},
            {"transmitter_host", std::string(host(run, each.transmitter))},
            {"size", std::uint64_t{options.message_size}, "B"},
            {"elapsed", each.received.elapsed, "s"},
            {"send_elapsed", each.sent.elapsed, "s"},
            {"receive_rate", bits_per_second(options, each.received), "bit/s"},
            {"send_rate", bits_per_second(options, each.sent), "bit/s"},
            {"total", each.sent.numbers, "1"},
            {"received", each.received.messages, "1"},
            {"missed", each.missed(), "1"},
            {"trailing", each.trailing(), "1"},
            {"repeated", each.received.duplicates, "1"},
            {"disordered", each.received.out_of_order, "1"},
            {"foreign", each.received.foreign, "1"},
            {"wrong", each.received.wrong, "1"},
            {"loss_rate", loss_rate(each), "1"},
            {"receive_cpu", cpu_per_message(each.cpu_share, each.received.messages), "s"},
            {"send_cpu", cpu_per_message(each.sent.cpu, each.sent.messages), "s"},
            {"valid", looked_at ? bench::Value(each.received.wrong == 0) : bench::Value()}};
}

void tell_failure(bench::Report& report, int rank, const Side& side) {
    if (side.failure.front() != '\0') {
        report.fail("rank " + std::to_string(rank) +
                    " did not come to its end: " + side.failure.data());
    }
}

} // namespace

int tell(const bench::World& world, Options& options, const std::vector<Stream>& streams,
         int signal) {
    const Run run{options, world.host_of_rank, streams};
    bench::Report report(bench::table_stream(options.json), "rdma_stream",
                         bench::word_of(kMethods, options.method));
    print_shapes(report.stream(), run);
    for (const Stream& each : streams) {
        print_lines(report.stream(), options, each);
    }
    print(report.stream(), "\n# rdma_stream v%s\n", BENCH_VERSION);
    report.fact("method", std::string(bench::word_of(kMethods, options.method)), "Method");
    if (options.method == Method::Rdma) {
        report.fact("qp_type", std::string(bench::word_of(bench::verbs::kQpTypes, options.qp_type)),
                    "Queue pairs");
        report.fact("completions",
                    std::string(bench::word_of(bench::verbs::kWaitings, options.waiting)),
                    "Completions");
        report.fact("mtu", std::uint64_t{smallest_mtu(streams)}, "MTU");
    }
    report.fact("test", std::string(bench::word_of(kTests, options.test)), "Test");
    report.fact("message", std::uint64_t{options.message_size}, "Message");
    add_facts(report, world);
    report.print_facts();
    report.set_columns(columns(), "  ", "# ", " ");
    report.print_titles();
    for (const Stream& each : streams) {
        report.add(row_of(run, each));
        tell_failure(report, each.receiver, each.received);
        tell_failure(report, each.transmitter, each.sent);
    }
    return report.end(options.json, table_of(options), streams.size(), "streams", signal);
}

} // namespace rdma_stream
