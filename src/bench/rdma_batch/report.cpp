#include "rdma_batch/report.hpp"

#include <algorithm>

namespace rdma_batch {

namespace {

// Python's PrettyTable, which MORI-IO uses: of an odd number of blanks, the one more stands behind
// a word of odd length and before one of even length.
std::string centred(const std::string& word, std::size_t width) {
    const std::size_t blanks = width - word.size();
    const std::size_t before = word.size() % 2 == 0 ? blanks - blanks / 2 : blanks / 2;
    return std::string(before, ' ') + word + std::string(blanks - before, ' ');
}

std::vector<bench::Column> columns_of(Columns columns) {
    const int small = columns == Columns::Full ? 6 : -1; // where two would round to nothing
    const auto time = [small](const char* title, const char* statistic) {
        return bench::Column{title, 0, "latency", statistic, bench::kToMicro, 2, small};
    };
    const auto rate = [small](const char* title, const char* statistic) {
        return bench::Column{title, 0, "bandwidth", statistic, bench::kToGiga, 2, small};
    };
    std::vector<bench::Column> list = {{"MsgSize (B)", 0, "size"}};
    if (columns != Columns::Short) {
        list.push_back({"BatchSize", 0, "batch"});
    }
    list.push_back({"TotalSize (MB)", 0, "bytes", {}, bench::kToMega, 2, small});
    list.push_back(rate("Max BW (GB/s)", "max"));
    list.push_back(rate("Avg Bw (GB/s)", "avg"));
    list.push_back(time("Min Lat (us)", "min"));
    list.push_back(time("Avg Lat (us)", "avg"));
    if (columns == Columns::Full) {
        list.push_back(time("P50 Lat (us)", "p50"));
        list.push_back(time("P99 Lat (us)", "p99"));
        list.push_back({"Iterations", 0, "iterations"});
    }
    return list;
}

std::string line_of(const std::vector<std::string>& words, const std::vector<std::size_t>& widths) {
    std::string line = "|";
    for (std::size_t index = 0; index < words.size(); ++index) {
        line += ' ' + centred(words[index], widths[index]) + " |";
    }
    return line + '\n';
}

std::string rule_of(const std::vector<std::size_t>& widths) {
    std::string rule = "+";
    for (const std::size_t width : widths) {
        rule += std::string(width + 2, '-') + '+';
    }
    return rule + '\n';
}

const char* yes_no(bool truth) {
    return truth ? "True" : "False";
}

std::string line(const char* key, const std::string& value) {
    return std::string("  ") + key + ": " + value + '\n';
}

} // namespace

void tell_place(bench::Report& report, const Options& options, const std::string& host,
                const std::vector<Used>& used) {
    std::vector<std::string> devices;
    devices.reserve(used.size());
    for (const Used& each : used) {
        devices.push_back(each.device);
    }
    std::string text = "rdma_batch " BENCH_VERSION " Benchmark Configurations:\n";
    text +=
        line("host", host) + line("port", std::to_string(options.tcp_port)) +
        line("node_rank", "0") + line("role", "EngineRole.INITIATOR") + line("role_rank", "0") +
        line("num_initiator_dev", std::to_string(options.initiators)) +
        line("num_target_dev", std::to_string(options.targets)) +
        line("buffer_size", std::to_string(options.buffer_size) + " B") +
        line("transfer_batch_size", std::to_string(options.batch)) +
        line("enable_batch_transfer", yes_no(options.batch_transfer)) +
        line("enable_sess", yes_no(options.session)) +
        line("num_qp_per_transfer", std::to_string(options.queue_pairs)) +
        line("num_worker_threads", std::to_string(options.workers)) +
        line("op_type", std::string(bench::word_of(kOperations, options.operation))) +
        line("poll_cq_mode", std::string(bench::word_of(bench::verbs::kWaitings, options.poll))) +
        line("validate", yes_no(options.validate));
    report.fact("ranks", std::uint64_t{options.initiators});
    report.fact("hosts", std::vector<std::string>{host});
    report.fact("target", options.host);
    report.fact("devices", devices, "devices");
    if (!used.empty()) {
        const Used& first = used.front();
        report.fact("link", first.link, "link");
        report.fact("mtu", std::uint64_t{first.mtu}, "mtu");
        report.fact("gid_index", std::uint64_t{first.gid_index}, "gid_index");
        report.fact("sq_depth", std::uint64_t{first.queue_depth}, "sq_depth");
        report.fact("max_rd_atomic", std::uint64_t{first.reads_in_flight}, "max_rd_atomic");
    }
    bench::print(report.stream(), "%s", text.c_str());
    report.print_facts();
}

bench::Row row_of(const RowResult& row, std::optional<unsigned> initiator) {
    return {
        {"initiator", initiator ? bench::Value(std::uint64_t{*initiator}) : bench::Value(), "1"},
        {"size", row.shape.size, "B"},
        {"batch", row.shape.batch, "1"},
        {"slots", row.slots, "1"},
        {"bytes", row.bytes, "B"},
        {"iterations", std::uint64_t{row.ascending.size()}, "1"},
        {"latency", bench::statistics_of(row.ascending, row.average), "s"},
        {"bandwidth", bench::Statistics{{"max", row.max_bandwidth}, {"avg", row.average_bandwidth}},
         "B/s"},
        {"valid", bench::value_of(row.valid)}};
}

std::string table(const std::string& title, const std::vector<bench::Row>& rows, Columns columns) {
    const std::vector<bench::Column> list = columns_of(columns);
    std::vector<std::vector<std::string>> lines(rows.size() + 1);
    std::vector<std::size_t> widths;
    for (const bench::Column& column : list) {
        std::size_t width = column.title.size();
        lines[0].push_back(column.title);
        for (std::size_t row = 0; row < rows.size(); ++row) {
            lines[row + 1].push_back(cell(column, rows[row]));
            width = std::max(width, lines[row + 1].back().size());
        }
        widths.push_back(width);
    }
    const std::string rule = rule_of(widths);
    const std::string top = '+' + std::string(rule.size() - 3, '-') + "+\n";
    std::string text = top + line_of({title}, {rule.size() - 5}) + rule + line_of(lines[0], widths);
    text += rule;
    for (std::size_t row = 1; row < lines.size(); ++row) {
        text += line_of(lines[row], widths);
    }
    return text + rule;
}

} // namespace rdma_batch
