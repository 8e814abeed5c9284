#include "common/interface.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <string>

using bench::tcp_segments;

namespace {

// What the function finds in such a file.
std::optional<std::uint64_t> found_in(const std::string& text) {
    const char* const name = "segments.txt";
    std::ofstream(name) << text;
    const auto found = tcp_segments(name);
    (void)std::remove(name);
    return found;
}

} // namespace

TEST_CASE("segments of both directions are counted") {
    CHECK(found_in("Ip: InReceives\nIp: 9\n"
                   "Tcp: MaxConn InSegs OutSegs RetransSegs\nTcp: -1 40 2 7\n") == 42);
}

TEST_CASE("what does not tell them is nothing, and not zero") {
    CHECK(!found_in("").has_value());
    CHECK(!found_in("Ip: InReceives\nIp: 9\n").has_value());
    CHECK(!found_in("Tcp: InSegs\nTcp: 40\n").has_value());
    CHECK(!tcp_segments("no/such/file").has_value());
}

TEST_CASE("a kernel that has the file tells them") {
    CHECK(tcp_segments().has_value() == std::ifstream("/proc/net/snmp").good());
}
