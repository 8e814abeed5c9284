#include "common/interface.hpp"

#include "common/arguments.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <sstream>
#include <stdexcept>

namespace bench {

namespace {

struct InterfacesGone {
    void operator()(ifaddrs* list) const { freeifaddrs(list); }
};

} // namespace

in_addr address_of(const std::string& option, const std::string& interface) {
    ifaddrs* found = nullptr;
    if (getifaddrs(&found) != 0) {
        // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread
        throw std::runtime_error(std::string("the network interfaces cannot be listed: ") +
                                 std::strerror(errno));
    }
    const std::unique_ptr<ifaddrs, InterfacesGone> list(found);
    std::optional<in_addr> loopback;
    std::string names;
    for (const ifaddrs* each = list.get(); each != nullptr; each = each->ifa_next) {
        const bool is_up = (each->ifa_flags & IFF_UP) != 0;
        if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET || !is_up) {
            continue;
        }
        sockaddr_in address{};
        std::memcpy(&address, each->ifa_addr, sizeof address);
        names += (names.empty() ? "" : ", ") + std::string(each->ifa_name);
        const bool is_loopback = (each->ifa_flags & IFF_LOOPBACK) != 0;
        if (interface.empty() ? !is_loopback : interface == each->ifa_name) {
            return address.sin_addr;
        }
        if (interface.empty() && !loopback) {
            loopback = address.sin_addr;
        }
    }
    if (!loopback) {
        throw UsageError("option " + option + ": no network interface \"" + interface +
                         "\" that is up and has an IPv4 address; this machine has " +
                         (names.empty() ? "none" : names));
    }
    return *loopback;
}

std::optional<std::uint64_t> tcp_segments(const char* file) {
    std::ifstream stream(file);
    std::string titles;
    std::string values;
    while (std::getline(stream, titles) && std::getline(stream, values)) {
        if (titles.rfind("Tcp:", 0) != 0) {
            continue;
        }
        std::istringstream names(titles);
        std::istringstream numbers(values);
        std::string name;
        std::string number;
        std::uint64_t sum = 0;
        int found = 0;
        while (names >> name && numbers >> number) {
            if (name == "InSegs" || name == "OutSegs") {
                sum += std::stoull(number);
                ++found;
            }
        }
        return found == 2 ? std::optional(sum) : std::nullopt;
    }
    return std::nullopt;
}

} // namespace bench
