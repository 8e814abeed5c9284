// Addresses of this machine.
#pragma once

#include <netinet/in.h>
#include <string>

namespace bench {

/// The first IPv4 address of the interface; without a name that of the first one that leads to
/// other nodes, or else of the loopback, which is enough on one node. `option` is what named it.
/// Throws UsageError for an interface that has none, std::runtime_error if they cannot be listed.
in_addr address_of(const std::string& option, const std::string& interface);

} // namespace bench
