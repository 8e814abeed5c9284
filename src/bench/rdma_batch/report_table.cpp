#include "common/statistics.hpp"
#include "rdma_batch/report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace rdma_batch {

namespace {

constexpr bench::Percentile kMedian{50'000};
constexpr bench::Percentile kTail{99'000};

// Two decimals, as MORI-IO prints; in our own table more where they would round to nothing.
std::string number(double value, Columns columns) {
    std::array<char, 64> buffer{};
    const bool fine = columns == Columns::Full && value < 1;
    (void)std::snprintf(buffer.data(), buffer.size(), fine ? "%.6f" : "%.2f", value);
    return buffer.data();
}

// Python's PrettyTable, which MORI-IO uses: of an odd number of blanks, the one more stands behind
// a word of odd length and before one of even length.
std::string centred(const std::string& word, std::size_t width) {
    const std::size_t blanks = width - word.size();
    const std::size_t before = word.size() % 2 == 0 ? blanks - blanks / 2 : blanks / 2;
    return std::string(before, ' ') + word + std::string(blanks - before, ' ');
}

std::vector<std::string> column_titles(Columns columns) {
    std::vector<std::string> titles = {"MsgSize (B)"};
    if (columns != Columns::Short) {
        titles.emplace_back("BatchSize");
    }
    for (const char* title :
         {"TotalSize (MB)", "Max BW (GB/s)", "Avg Bw (GB/s)", "Min Lat (us)", "Avg Lat (us)"}) {
        titles.emplace_back(title);
    }
    if (columns == Columns::Full) {
        for (const char* title : {"P50 Lat (us)", "P99 Lat (us)", "Iterations"}) {
            titles.emplace_back(title);
        }
    }
    return titles;
}

std::vector<std::string> cells(const RowResult& row, Columns columns) {
    std::vector<std::string> words = {std::to_string(row.shape.size)};
    if (columns != Columns::Short) {
        words.push_back(std::to_string(row.shape.batch));
    }
    for (const double value : {row.total_megabytes(), row.max_bandwidth, row.average_bandwidth,
                               row.ascending_us.front(), row.average_us}) {
        words.push_back(number(value, columns));
    }
    if (columns == Columns::Full) {
        for (const bench::Percentile percentile : {kMedian, kTail}) {
            words.push_back(
                number(bench::percentile_of_sorted(row.ascending_us, percentile), columns));
        }
        words.push_back(std::to_string(row.ascending_us.size()));
    }
    return words;
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

std::string devices_of(const Report& report) {
    std::string names;
    for (const Initiator& initiator : report.initiators) {
        names += (names.empty() ? "" : ",") + initiator.used.device;
    }
    return names.empty() ? "none" : names;
}

} // namespace

std::string configuration(const Options& options, const Report& report) {
    std::string text = "rdma_batch " RDMA_BATCH_VERSION " Benchmark Configurations:\n";
    text += line("host", report.host) + line("port", std::to_string(options.tcp_port)) +
            line("node_rank", "0") + line("role", "EngineRole.INITIATOR") + line("role_rank", "0") +
            line("num_initiator_dev", std::to_string(options.initiators)) +
            line("num_target_dev", std::to_string(options.targets)) +
            line("buffer_size", std::to_string(options.buffer_size) + " B") +
            line("transfer_batch_size", std::to_string(options.batch)) +
            line("enable_batch_transfer", yes_no(options.batch_transfer)) +
            line("enable_sess", yes_no(options.session)) +
            line("num_qp_per_transfer", std::to_string(options.queue_pairs)) +
            line("num_worker_threads", std::to_string(options.workers)) +
            line("op_type", operation_name(options.operation)) +
            line("poll_cq_mode", poll_name(options.poll)) + line("devices", devices_of(report));
    if (!report.initiators.empty()) {
        const Used& used = report.initiators.front().used;
        text += line("link", used.link) + line("mtu", std::to_string(used.mtu)) +
                line("gid_index", std::to_string(used.gid_index)) +
                line("sq_depth", std::to_string(used.queue_depth)) +
                line("max_rd_atomic", std::to_string(used.reads_in_flight));
    }
    return text + line("validate", yes_no(options.validate));
}

std::string table(const std::string& title, const std::vector<RowResult>& rows, Columns columns) {
    const std::vector<std::string> titles = column_titles(columns);
    std::vector<std::size_t> widths;
    widths.reserve(titles.size());
    for (const std::string& each : titles) {
        widths.push_back(each.size());
    }
    std::vector<std::vector<std::string>> lines;
    for (const RowResult& row : rows) {
        lines.push_back(cells(row, columns));
        for (std::size_t index = 0; index < widths.size(); ++index) {
            widths[index] = std::max(widths[index], lines.back()[index].size());
        }
    }
    const std::string rule = rule_of(widths);
    const std::string top = '+' + std::string(rule.size() - 3, '-') + "+\n";
    std::string text = top + line_of({title}, {rule.size() - 5}) + rule + line_of(titles, widths);
    text += rule;
    for (const std::vector<std::string>& words : lines) {
        text += line_of(words, widths);
    }
    return text + rule;
}

std::string tables(const Options& options, const Report& report) {
    std::string text;
    std::size_t rows = report.expected_rows;
    for (const Initiator& initiator : report.initiators) {
        text += table("Initiator Rank " + std::to_string(initiator.rank), initiator.rows,
                      options.columns);
        rows = std::min(rows, initiator.rows.size());
    }
    if (report.initiators.size() > 1) {
        text += table("Aggregate of " + std::to_string(report.initiators.size()) + " Initiators",
                      report.together, options.columns);
    }
    return text + (report.interrupted ? "Interrupted: " : "Complete: ") + std::to_string(rows) +
           " of " + std::to_string(report.expected_rows) + " rows\n";
}

} // namespace rdma_batch
