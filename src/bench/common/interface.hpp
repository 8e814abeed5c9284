// Addresses of this machine, and what its sockets carried.
#pragma once

#include <cstdint>
#include <netinet/in.h>
#include <optional>
#include <string>

namespace bench {

/// The first IPv4 address of the interface; without a name that of the first one that leads to
/// other nodes, or else of the loopback, which is enough on one node. `option` is what named it.
/// Throws UsageError for an interface that has none, std::runtime_error if they cannot be listed.
in_addr address_of(const std::string& option, const std::string& interface);

/// TCP segments that this network namespace sent, a large one counted as those that it is cut into,
/// and received, merged ones as one. The kernel counts at once, where cards may tell a second
/// later. Nothing where the file (/proc/net/snmp) does not tell.
std::optional<std::uint64_t> tcp_segments(const char* file = "/proc/net/snmp");

} // namespace bench
