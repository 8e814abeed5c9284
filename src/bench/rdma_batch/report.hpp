// What rdma_batch prints: MORI-IO's configuration and tables, and JSON.
#pragma once

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

/// All rows of one initiator.
struct Initiator {
    unsigned rank = 0;
    Used used;
    std::vector<RowResult> rows;
};

/// A run as far as it came.
struct Report {
    std::string host; ///< of this end
    std::vector<Initiator> initiators;
    std::vector<RowResult> together; ///< of several initiators; empty for one
    std::size_t expected_rows = 0;
    bool interrupted = false;
};

/// The block "Configurations", above all tables.
std::string configuration(const Options& options, const Report& report);

/// A table with the title "Initiator Rank N" or "Aggregate of N Initiators".
std::string table(const std::string& title, const std::vector<RowResult>& rows, Columns columns);

/// All tables and the line that says how many rows there are.
std::string tables(const Options& options, const Report& report);

std::string json_document(const Options& options, const Report& report);

} // namespace rdma_batch
