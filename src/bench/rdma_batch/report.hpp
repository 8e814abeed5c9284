// What rdma_batch tells: MORI-IO's configuration and tables, and the same as JSON.
#pragma once

#include "common/report.hpp"
#include "rdma_batch/accounting.hpp"
#include "rdma_batch/options.hpp"

#include <string>
#include <vector>

namespace rdma_batch {

/// The port, path and limits that an initiator found and took.
struct Used {
    std::string device; ///< NAME:PORT
    unsigned gid_index = 0;
    unsigned mtu = 0;
    unsigned queue_depth = 0;
    unsigned reads_in_flight = 0;
    std::string link; ///< "Ethernet" or "InfiniBand"
};

/// Prints the block "Configurations" and tells the JSON where it ran, on which ports.
void tell_place(bench::Report& report, const Options& options, const std::string& host,
                const std::vector<Used>& used);

/// Of one initiator, or of all together.
bench::Row row_of(const RowResult& row, std::optional<unsigned> initiator);

/// A table with the title "Initiator Rank N" or "Aggregate of N Initiators".
std::string table(const std::string& title, const std::vector<bench::Row>& rows, Columns columns);

} // namespace rdma_batch
