#include "common/interrupt.hpp"
#include "common/json.hpp"
#include "common/statistics.hpp"
#include "rdma_batch/report.hpp"

#include <array>
#include <utility>

namespace rdma_batch {

namespace {

void write_row(bench::JsonWriter& json, const RowResult& row) {
    static constexpr std::array<std::pair<const char*, bench::Percentile>, 4> kPercentiles = {{
        {"p50_us", {50'000}},
        {"p95_us", {95'000}},
        {"p99_us", {99'000}},
        {"p99.9_us", {99'900}},
    }};
    json.begin_object();
    json.member("size", row.shape.size);
    json.member("batch", row.shape.batch);
    json.member("slots", row.slots);
    json.member("bytes", row.bytes);
    json.member("iterations", static_cast<std::uint64_t>(row.ascending_us.size()));
    json.member("max_gigabytes_per_s", row.max_bandwidth);
    json.member("avg_gigabytes_per_s", row.average_bandwidth);
    json.member("min_us", row.ascending_us.front());
    json.member("avg_us", row.average_us);
    for (const auto& [name, percentile] : kPercentiles) {
        json.member(name, bench::percentile_of_sorted(row.ascending_us, percentile));
    }
    json.member("max_us", row.ascending_us.back());
    json.member("valid", row.valid);
    json.end_object();
}

void write_rows(bench::JsonWriter& json, const char* name, const std::vector<RowResult>& rows) {
    json.key(name);
    json.begin_array();
    for (const RowResult& row : rows) {
        write_row(json, row);
    }
    json.end_array();
}

void write_initiator(bench::JsonWriter& json, const Initiator& initiator) {
    const Used& used = initiator.used;
    json.begin_object();
    json.member("rank", std::uint64_t{initiator.rank});
    json.member("device", std::string_view(used.device));
    json.member("link", std::string_view(used.link));
    json.member("mtu", std::uint64_t{used.mtu});
    json.member("gid_index", std::uint64_t{used.gid_index});
    json.member("sq_depth", std::uint64_t{used.queue_depth});
    json.member("max_rd_atomic", std::uint64_t{used.reads_in_flight});
    write_rows(json, "rows", initiator.rows);
    json.end_object();
}

} // namespace

std::string json_document(const Options& options, const Report& report) {
    bench::JsonWriter json;
    json.begin_object();
    json.member("program", "rdma_batch");
    json.member("version", RDMA_BATCH_VERSION);
    json.member("host", std::string_view(report.host));
    json.member("target", std::string_view(options.host));
    Options told = options;
    table_of(told).write(json);
    json.key("initiators");
    json.begin_array();
    for (const Initiator& initiator : report.initiators) {
        write_initiator(json, initiator);
    }
    json.end_array();
    write_rows(json, "aggregate", report.together);
    json.member("expected_rows", static_cast<std::uint64_t>(report.expected_rows));
    bench::write_end(json, bench::interrupted_by(), !report.interrupted);
    json.end_object();
    return json.text();
}

} // namespace rdma_batch
