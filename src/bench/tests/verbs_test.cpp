#include "common/arguments.hpp"
#include "common/verbs/port.hpp"
#include "common/verbs/queue_pair.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>

using namespace bench::verbs;

namespace {

Address some_address() {
    Address address;
    address.qp_number = 0xabcdef;
    address.psn = 0x123456;
    address.lid = 0xfedc;
    address.mtu = 4096;
    address.has_gid = true;
    address.reads = 16;
    std::fill(std::begin(address.gid.raw), std::end(address.gid.raw), std::uint8_t{7});
    return address;
}

ibv_gid_entry entry_with(std::initializer_list<int> first, std::uint32_t type) {
    ibv_gid_entry entry{};
    entry.gid_type = type;
    std::transform(first.begin(), first.end(), std::begin(entry.gid.raw),
                   [](int byte) { return static_cast<std::uint8_t>(byte); });
    return entry;
}

} // namespace

TEST_CASE("an address of a queue pair survives its way") {
    const Address sent = some_address();
    const Address found = decode(encode(sent));
    CHECK(found.qp_number == sent.qp_number);
    CHECK(found.psn == sent.psn);
    CHECK(found.lid == sent.lid);
    CHECK(found.mtu == sent.mtu);
    CHECK(found.has_gid);
    CHECK(found.reads == sent.reads);
    CHECK(std::equal(std::begin(sent.gid.raw), std::end(sent.gid.raw), std::begin(found.gid.raw)));
}

TEST_CASE("bytes that are no address are refused") {
    CHECK_THROWS_AS((void)decode({}), std::runtime_error);
    AddressBytes bytes = encode(some_address());
    SUBCASE("of another format") {
        bytes[3] ^= 1;
    }
    SUBCASE("with an unknown flag") {
        bytes[11] |= 2;
    }
    SUBCASE("with an MTU that there is not") {
        bytes[15] = 1;
    }
    CHECK_THROWS_AS((void)decode(bytes), std::runtime_error);
}

TEST_CASE("the MTUs of RDMA") {
    for (const unsigned bytes : {256U, 512U, 1024U, 2048U, 4096U}) {
        CHECK(mtu_bytes(mtu_of_bytes(bytes)) == bytes);
    }
    for (const unsigned bytes : {0U, 1U, 128U, 1500U, 8192U}) {
        CHECK_THROWS_AS((void)mtu_of_bytes(bytes), bench::UsageError);
    }
}

TEST_CASE("an address that routers know is preferred, then RoCE v2") {
    const auto ipv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1};
    CHECK(gid_kind(entry_with({}, IBV_GID_TYPE_ROCE_V2)) == GidKind::Empty);
    CHECK(gid_kind(entry_with(ipv4, IBV_GID_TYPE_ROCE_V2)) == GidKind::RoutableV2);
    CHECK(gid_kind(entry_with({0x20, 1}, IBV_GID_TYPE_ROCE_V2)) == GidKind::RoutableV2);
    CHECK(gid_kind(entry_with({0xfe, 0x80}, IBV_GID_TYPE_ROCE_V2)) == GidKind::LinkLocalV2);
    CHECK(gid_kind(entry_with(ipv4, IBV_GID_TYPE_ROCE_V1)) == GidKind::Other);
    CHECK(GidKind::RoutableV2 < GidKind::LinkLocalV2);
    CHECK(GidKind::LinkLocalV2 < GidKind::Other);
    CHECK(GidKind::Other < GidKind::Empty);
}
