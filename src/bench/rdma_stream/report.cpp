#include "rdma_stream/report.hpp"

#include "common/interrupt.hpp"
#include "common/json.hpp"
#include "common/output.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace rdma_stream {

namespace {

using bench::print;

constexpr double kBits = 8.0;
constexpr double kGiga = 1e9;
constexpr double kMicro = 1e6;

unsigned long long plain(std::uint64_t number) {
    return number;
}

const char* host(const Report& report, int rank) {
    return report.host_of_rank[static_cast<std::size_t>(rank)].c_str();
}

void print_shapes(std::FILE* stream, const Report& report) {
    const Options& options = report.options;
    for (int rank = 0; rank < options.receivers; ++rank) {
        const auto streams =
            std::count_if(report.streams.begin(), report.streams.end(),
                          [rank](const Stream& each) { return each.receiver == rank; });
        print(stream, "%s, rdma_buffers for receiver shape is (%ld, %u, %u, %u)\n",
              host(report, rank), static_cast<long>(streams), options.blocks,
              options.messages_per_block, options.message_size);
    }
    for (int rank = 0; rank < options.transmitters; ++rank) {
        print(stream, "%s, rdma_buffers for transmitter shape is (%u, %u, %u)\n",
              host(report, options.receivers + rank), options.blocks, options.messages_per_block,
              options.message_size);
    }
}

// Word for word what the program of SEREN prints, so that what reads its output reads this too.
void print_lines(std::FILE* stream, const Options& options, const Stream& each) {
    const int transmitter = each.transmitter - options.receivers;
    print(stream, "Rank %d transmitter elapsed time is %.9f seconds\n", transmitter,
          each.sent.elapsed);
    print(stream, "Rank %d transmitter data rate is %.9g Gbps\n", transmitter,
          gigabits(options, each.sent));
    const std::string side = "Rank " + std::to_string(each.receiver) +
                             " receiver from transmitter " + std::to_string(each.number);
    print(stream, "%s, elapsed time is %.9f seconds\n", side.c_str(), each.received.elapsed);
    print(stream, "%s, data rate is %.9g Gbps\n", side.c_str(), gigabits(options, each.received));
    print(stream, "%s, message missed is %llu\n", side.c_str(), plain(each.missed()));
    print(stream, "%s, message received is %llu\n", side.c_str(), plain(each.received.messages));
    print(stream, "%s, message total is %llu\n", side.c_str(), plain(each.sent.numbers));
    print(stream, "%s, message loss rate is %.9g\n", side.c_str(), loss_rate(each));
}

// Of all connections, since one of them is enough to be slower.
unsigned smallest_mtu(const Report& report) {
    unsigned smallest = std::numeric_limits<unsigned>::max();
    for (const Stream& each : report.streams) {
        smallest = std::min(smallest, each.sent.mtu);
    }
    return report.streams.empty() ? 0 : smallest;
}

void print_head(std::FILE* stream, const Report& report) {
    const Options& options = report.options;
    print(stream, "\n# rdma_stream v%s\n# Method: %s\n", RDMA_STREAM_VERSION,
          std::string(name_of(options.method)).c_str());
    if (options.method == Method::Rdma) {
        print(stream, "# Queue pairs: %s\n# Completions: %s\n# MTU: %u\n",
              std::string(name_of(options.qp_type)).c_str(),
              std::string(name_of(options.waiting)).c_str(), smallest_mtu(report));
    }
    print(stream, "# Test: %s\n# Message: %u\n# Ranks: %d\n# MPI: %s\n",
          std::string(name_of(options.test)).c_str(), options.message_size,
          options.receivers + options.transmitters, report.mpi.c_str());
    print(
        stream,
        "# %-4s %-16s %-4s %-16s %12s %11s %11s %10s %10s %10s %10s %10s %10s %10s %12s %9s %9s\n",
        "Rx", "Host", "Tx", "Host", "Elapsed(s)", "Rx(Gbit/s)", "Tx(Gbit/s)", "Missed", "Trailing",
        "Received", "Total", "Repeated", "Disordered", "Wrong", "Loss rate", "Rx(us)", "Tx(us)");
}

void print_row(std::FILE* stream, const Report& report, const Stream& each) {
    const Options& options = report.options;
    print(stream,
          "  %-4d %-16s %-4d %-16s %12.6f %11.4f %11.4f %10llu %10llu %10llu %10llu %10llu %10llu "
          "%10llu %12.6g %9.3f %9.3f\n",
          each.receiver, host(report, each.receiver), each.transmitter,
          host(report, each.transmitter), each.received.elapsed, gigabits(options, each.received),
          gigabits(options, each.sent), plain(each.missed()), plain(each.trailing()),
          plain(each.received.messages), plain(each.sent.numbers), plain(each.received.duplicates),
          plain(each.received.out_of_order), plain(each.received.wrong), loss_rate(each),
          cpu_per_message(each.cpu_share, each.received.messages),
          cpu_per_message(each.sent.cpu, each.sent.messages));
}

void print_end(std::FILE* stream, const Report& report) {
    for (const Stream& each : report.streams) {
        if (each.received.failure.front() != '\0') {
            print(stream, "# Rank %d did not come to its end: %s\n", each.receiver,
                  each.received.failure.data());
        }
        if (each.sent.failure.front() != '\0') {
            print(stream, "# Rank %d did not come to its end: %s\n", each.transmitter,
                  each.sent.failure.data());
        }
    }
    print(stream, "# %s: %zu stream%s\n", report.complete ? "Complete" : "Incomplete",
          report.streams.size(), report.streams.size() == 1 ? "" : "s");
}

void write_side(bench::JsonWriter& json, const Report& report, int rank, const Side& side,
                double cpu) {
    json.member("rank", static_cast<std::uint64_t>(rank));
    json.member("host", host(report, rank));
    json.member("elapsed_s", side.elapsed);
    json.member("gbit_s", gigabits(report.options, side));
    json.member("messages", side.messages);
    json.member("cpu_us", cpu_per_message(cpu, side.messages));
    json.key("failure");
    if (side.failure.front() == '\0') {
        json.null();
    } else {
        json.value(side.failure.data());
    }
}

void write_stream(bench::JsonWriter& json, const Report& report, const Stream& each) {
    json.begin_object();
    json.key("receiver");
    json.begin_object();
    write_side(json, report, each.receiver, each.received, each.cpu_share);
    json.end_object();
    json.key("transmitter");
    json.begin_object();
    write_side(json, report, each.transmitter, each.sent, each.sent.cpu);
    json.end_object();
    json.member("mtu",
                each.sent.mtu != 0 ? std::optional(std::uint64_t{each.sent.mtu}) : std::nullopt);
    json.member("total", each.sent.numbers);
    json.member("received", each.received.messages);
    json.member("missed", each.missed());
    json.member("trailing", each.trailing());
    json.member("repeated", each.received.duplicates);
    json.member("disordered", each.received.out_of_order);
    json.member("foreign", each.received.foreign);
    json.member("wrong", each.received.wrong);
    json.member("loss_rate", loss_rate(each));
    json.end_object();
}

} // namespace

void share_cpu(const Options& options, std::vector<Stream>& streams) {
    std::vector<std::uint64_t> messages(static_cast<std::size_t>(options.receivers), 0);
    for (const Stream& each : streams) {
        messages[static_cast<std::size_t>(each.receiver)] += each.received.messages;
    }
    for (Stream& each : streams) {
        const std::uint64_t all = messages[static_cast<std::size_t>(each.receiver)];
        each.cpu_share = all == 0
                             ? 0.0
                             : each.received.cpu * static_cast<double>(each.received.messages) /
                                   static_cast<double>(all);
    }
}

double gigabits(const Options& options, const Side& side) {
    const double bits = kBits * options.message_size * static_cast<double>(side.messages);
    return side.elapsed > 0.0 ? bits / side.elapsed / kGiga : 0.0;
}

double loss_rate(const Stream& stream) {
    const auto total = static_cast<double>(stream.sent.numbers);
    return total > 0.0 ? static_cast<double>(stream.missed()) / total : 0.0;
}

double cpu_per_message(double cpu, std::uint64_t messages) {
    return messages != 0 ? kMicro * cpu / static_cast<double>(messages) : 0.0;
}

bool has_failed(const Stream& stream) {
    return stream.received.failure.front() != '\0' || stream.sent.failure.front() != '\0' ||
           stream.received.wrong != 0;
}

void print_report(std::FILE* stream, const Report& report) {
    print_shapes(stream, report);
    for (const Stream& each : report.streams) {
        print_lines(stream, report.options, each);
    }
    print_head(stream, report);
    for (const Stream& each : report.streams) {
        print_row(stream, report, each);
    }
    print_end(stream, report);
}

std::string json_document(const Report& report) {
    const Options& options = report.options;
    bench::JsonWriter json;
    json.begin_object();
    json.member("program", "rdma_stream");
    json.member("version", RDMA_STREAM_VERSION);
    json.member("method", name_of(options.method));
    json.key("qp_type");
    if (options.method == Method::Rdma) {
        json.value(name_of(options.qp_type));
    } else {
        json.null();
    }
    json.member("test", name_of(options.test));
    json.member("mpi", report.mpi);
    Options told = options;
    table_of(told).write(json);
    json.key("streams");
    json.begin_array();
    for (const Stream& each : report.streams) {
        write_stream(json, report, each);
    }
    json.end_array();
    bench::write_end(json, report.signal, report.complete);
    json.end_object();
    return json.text();
}

} // namespace rdma_stream
