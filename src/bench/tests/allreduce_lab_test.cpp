#include "allreduce_lab/bounds.hpp"
#include "allreduce_lab/check.hpp"
#include "allreduce_lab/hadamard.hpp"
#include "allreduce_lab/packet.hpp"
#include "allreduce_lab/schedule.hpp"
#include "allreduce_lab/slot.hpp"
#include "allreduce_lab/vectors.hpp"
#include "allreduce_lab/wire.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

using namespace allreduce_lab;

std::vector<float> summed(std::size_t count, Turn turn, int ranks) {
    std::vector<float> total(count, 0.0F);
    std::vector<float> own(count);
    for (int rank = 0; rank < ranks; ++rank) {
        fill({own.data(), count}, turn, rank);
        for (std::size_t index = 0; index < count; ++index) {
            total[index] += own[index];
        }
    }
    return total;
}

} // namespace

TEST_CASE("the sum of the ranks' vectors is what it must be, exactly, up to 255 ranks") {
    for (const int ranks : {1, 2, 7, 255}) {
        const Turn turn{3, 17};
        std::vector<float> total = summed(500, turn, ranks);
        CHECK_FALSE(compare({total.data(), total.size()}, turn, ranks, 0.0).wrong);
        CHECK(compare({total.data(), total.size()}, turn, ranks, 0.0).error == 0.0);
        total[123] += 1.0F;
        const Deviation deviation = compare({total.data(), total.size()}, turn, ranks, 0.0);
        REQUIRE(deviation.wrong);
        CHECK(deviation.wrong->index == 123);
        CHECK(deviation.wrong->found - deviation.wrong->expected == 1.0F);
        CHECK(deviation.peak == 1.0);
        CHECK_FALSE(compare({total.data(), total.size()}, turn, ranks, 1.0).wrong);
    }
}

TEST_CASE("another sum, another seed and a shifted vector are found wrong, and so is NaN") {
    std::vector<float> total = summed(100, {3, 17}, 4);
    CHECK(compare({total.data(), 100}, {3, 18}, 4, 0.0).wrong);
    CHECK(compare({total.data(), 100}, {4, 17}, 4, 0.0).wrong);
    CHECK(compare({total.data() + 1, 99}, {3, 17}, 4, 0.0).wrong);
    total[5] = std::nanf("");
    CHECK(compare({total.data(), 100}, {3, 17}, 4, 1e9).wrong->index == 5);
}

TEST_CASE("a packet's header is read as it was written, byte by byte in network order") {
    const PacketHeader header{
        0x01020304, PacketKind::Gather, 7, 0x1112, 0x21222324, 0x3132, true, 5, true, 15};
    std::array<unsigned char, kHeaderBytes> packet{};
    write_packet(packet.data(), header);
    const std::array<unsigned char, kHeaderBytes> expected = {
        0xA7, 0x49, 7, 1, 2, 3, 4, 0x11, 0x12, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0xDF};
    CHECK(packet == expected);
    PacketHeader found;
    REQUIRE(read_packet(packet.data(), packet.size(), found));
    std::array<unsigned char, kHeaderBytes> again{};
    write_packet(again.data(), found);
    CHECK(again == packet);
    CHECK_FALSE(read_packet(packet.data(), packet.size() - 1, found));
    for (const auto& [index, value] : {std::pair<std::size_t, unsigned char>{0, 0xA6}, // magic
                                       {1, 0x39},                                      // version
                                       {1, 0x4A},                                      // kind
                                       {1, 0x40},     // a scatter lacks nothing
                                       {15, 0xD0}}) { // incast
        auto wrong = packet;
        wrong[index] = value;
        CHECK_FALSE(read_packet(wrong.data(), wrong.size(), found));
    }
}

TEST_CASE("of a million packets of noise, those that are read are written back the same") {
    std::mt19937_64 noise(17); // NOLINT(cert-msc51-cpp): the same packets
    std::size_t read = 0;
    for (int packet = 0; packet < 1'000'000; ++packet) {
        std::array<unsigned char, kHeaderBytes> bytes{};
        for (unsigned char& byte : bytes) {
            byte = static_cast<unsigned char>(noise());
        }
        if (packet % 2 == 0) { // or none would come past the first two bytes
            bytes[0] = 0xA7;
            bytes[1] = static_cast<unsigned char>(0x40U | (noise() % 16));
        }
        // On the heap and as long as it is, so that a sanitizer sees a byte read too many.
        const std::vector<unsigned char> sent(
            bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(noise() % 18 % 17));
        PacketHeader header;
        if (read_packet(sent.data(), sent.size(), header)) {
            ++read;
            std::array<unsigned char, kHeaderBytes> again{};
            write_packet(again.data(), header);
            if (again != bytes) {
                FAIL("packet " << packet << " is not written as it was read");
            }
        }
    }
    CHECK(read > 1000);
}

TEST_CASE("the Hadamard transform keeps lengths, sums and, with its inverse, everything") {
    std::vector<float> a(4096);
    fill({a.data(), a.size()}, {1, 2}, 0);
    const std::vector<float> before = a;
    std::vector<float> b(4096);
    fill({b.data(), b.size()}, {1, 2}, 1);
    std::vector<float> sum(4096);
    double energy = 0.0;
    for (std::size_t index = 0; index < a.size(); ++index) {
        sum[index] = a[index] + b[index];
        energy += double{a[index]} * double{a[index]};
    }
    for (std::vector<float>* each : {&a, &b, &sum}) {
        hadamard(each->data(), each->size(), 256, 9);
    }
    double spread_energy = 0.0;
    for (std::size_t index = 0; index < a.size(); ++index) {
        REQUIRE(sum[index] == doctest::Approx(a[index] + b[index]).epsilon(1e-3));
        spread_energy += double{a[index]} * double{a[index]};
    }
    CHECK(spread_energy == doctest::Approx(energy));
    std::vector<float> other = before;
    hadamard(other.data(), other.size(), 256, 10);
    CHECK(other != a); // other signs for each bucket
    inverse_hadamard(a.data(), a.size(), 256, 9);
    for (std::size_t index = 0; index < a.size(); ++index) {
        REQUIRE(std::fabs(a[index] - before[index]) < 0.01);
    }
}

TEST_CASE("what is lost of a spread block is, over the signs, its share of all of it") {
    const float truth = 100.0F;
    double mean = 0.0;
    constexpr int kSeeds = 4000;
    for (int seed = 0; seed < kSeeds; ++seed) {
        std::vector<float> block(64, 0.0F);
        block[5] = truth;
        hadamard(block.data(), 64, 64, static_cast<std::uint64_t>(seed));
        for (std::size_t index = 0; index < 64; ++index) {
            block[index] = index < 16 ? 0.0F : block[index];
        }
        inverse_hadamard(block.data(), 64, 64, static_cast<std::uint64_t>(seed));
        mean += (block[5] + block[6]) / kSeeds; // the neighbour's truth is 0
    }
    CHECK(mean == doctest::Approx(0.75 * truth).epsilon(0.02));
}

TEST_CASE("neighbours on the wire are of different blocks, and each float has one place there") {
    for (const auto& [blocks, block] :
         {std::pair<std::size_t, std::size_t>{33, 256}, {1, 64}, {65, 4}, {200, 8}}) {
        const Wire wire(blocks, block);
        std::vector<float> from(blocks * block);
        for (std::size_t index = 0; index < from.size(); ++index) {
            from[index] = static_cast<float>(index);
        }
        std::vector<float> sent(from.size(), -1.0F);
        wire.lay(from.data(), sent.data());
        std::size_t same = 0;
        for (std::size_t place = 0; place < sent.size(); ++place) {
            REQUIRE(wire.block_at(place) == static_cast<std::size_t>(sent[place]) / block);
            same += place > 0 && wire.block_at(place) == wire.block_at(place - 1) ? 1 : 0;
        }
        CHECK(same == (blocks == 1 ? block - 1 : 0));
        std::vector<float> back(from.size());
        wire.take_up(sent.data(), back.data());
        CHECK(back == from);
    }
}

namespace {

constexpr int kRanks = 4;
constexpr std::size_t kBlock = 64;
constexpr std::size_t kElements = 8 * kBlock - 7;

/// A bucket of which a rank lost a gathered piece, and another piece lacks a contribution.
struct Lossy {
    Lossy() : sum(8 * kBlock), found(8 * kBlock), instead(8 * kBlock) {
        came.shard = 8 * kBlock / kRanks;
        came.piece = 32;
        came.lacks.assign(8 * kBlock / came.piece, 0);
        came.of(1, 2) = Came::kNothing;
        came.of(3, 0) = 1;
        fill_with_sum({sum.data(), kElements}, {1, 2}, kRanks);
        std::vector<float> own(sum.size());
        fill({own.data(), kElements}, {1, 2}, 3);
        // As a rank would have it: its own part, times 1.5 here, is what never came.
        for (std::vector<float>* each : {&sum, &own}) {
            hadamard(each->data(), each->size(), kBlock, 9);
            std::vector<float> sent(each->size());
            wire.lay(each->data(), sent.data());
            each->swap(sent);
        }
        std::copy(sum.begin(), sum.end(), found.begin());
        for (std::size_t place = 0; place < found.size(); ++place) {
            if (came.at(place) == 1) {
                found[place] = (found[place] - own[place]) * kRanks / (kRanks - 1);
            }
            instead[place] = 1.5F * own[place];
            if (came.at(place) == Came::kNothing) {
                found[place] = instead[place];
            }
        }
    }

    [[nodiscard]] Deviation looked_at() const {
        Deviation result;
        look_at({found.data(), sum.data(), instead.data(), kElements, energy, true}, kRanks, kBlock,
                wire, came, result);
        return result;
    }

    Wire wire{8, kBlock};
    Came came;
    std::vector<float> sum;
    std::vector<float> found;
    std::vector<float> instead;
    double energy = kEnergy;
};

} // namespace

TEST_CASE("of a sum that lost packets all is right, and zeros, or one float, are wrong") {
    const Lossy right;
    const Deviation found = right.looked_at();
    CHECK_FALSE(found.wrong);
    CHECK(found.exact == kElements - 64);
    CHECK(found.lacking.count == 32);
    CHECK(found.lacking.found / found.lacking.expected == doctest::Approx(1).epsilon(0.5));
    Lossy zeros;
    zeros.found.assign(zeros.found.size(), 0.0F);
    REQUIRE(zeros.looked_at().wrong);
    CHECK(zeros.looked_at().wrong->block);
    for (const std::size_t place :
         {std::size_t{5}, right.came.shard + 70}) { // that never came, too
        Lossy one;
        one.found[place] += 1.0F;
        REQUIRE(one.looked_at().wrong);
        CHECK(one.looked_at().wrong->index == one.wire.block_at(place) * kBlock);
    }
    Lossy nan;
    nan.found[7] = std::nanf("");
    CHECK(nan.looked_at().wrong);
    Lossy other;
    for (std::size_t place = 3 * other.came.shard; place < 3 * other.came.shard + 32; ++place) {
        other.found[place] *= 3;
    }
    CHECK(other.looked_at().lacking.found > 5 * other.looked_at().lacking.expected);
    other.energy = 0.0; // of gradients nobody knows what those of other ranks are worth
    CHECK(other.looked_at().lacking.count == 0);
}

TEST_CASE("without the transform, too, the own part stands in for what never came, to the bit") {
    Came came{64, 16, std::vector<std::uint8_t>(8, 0)};
    came.of(1, 1) = Came::kNothing;
    std::vector<float> sum(128);
    fill_with_sum({sum.data(), 120}, {1, 2}, 2);
    std::vector<float> own(128);
    fill({own.data(), 120}, {1, 2}, 0);
    std::vector<float> found = sum;
    for (float& each : own) {
        each *= 2;
    }
    std::copy(own.begin() + 80, own.begin() + 96, found.begin() + 80);
    const auto looked_at = [&] {
        Deviation result;
        look_at({found.data(), sum.data(), own.data(), 120, kEnergy, false}, 2, 64, Wire(2, 64),
                came, result);
        return result;
    };
    CHECK_FALSE(looked_at().wrong);
    CHECK(looked_at().exact == 104);
    found[85] += 1.0F;
    REQUIRE(looked_at().wrong);
    CHECK(looked_at().wrong->index == 64);
}

TEST_CASE("t_B lets a share of the packets be late, but none of a typical stage") {
    Arrivals arrivals;
    for (int packet = 0; packet < 100; ++packet) {
        arrivals.note(packet < 90 ? 0.0001 * packet : 0.250);
    }
    Arrivals all;
    all.add(arrivals);
    all.add(arrivals);
    CHECK(all.by(0.5) == doctest::Approx(0.005).epsilon(0.03));
    CHECK(stage_bound(all, 0.018, 0.2, 1.25) == doctest::Approx(1.04 * 0.009)); // half of a sum
    CHECK(stage_bound(all, 0.002, 0.2, 99) == doctest::Approx(0.0079).epsilon(0.03));
    CHECK(stage_bound(all, 0.018, 0.01, 99) == doctest::Approx(0.250).epsilon(0.03));
    CHECK(stage_bound(all, 0.018, 0.01, 1.25) == doctest::Approx(1.25 * 0.009)); // of both targets
    CHECK(stage_bound(all, 0.018, 0.01, 0.5) == doctest::Approx(1.04 * 0.009));
    Arrivals later = all;
    later.subtract(arrivals);
    CHECK(later.by(0.5) == arrivals.by(0.5));
    later.subtract(arrivals);
    CHECK(later.by(0.5) == Arrivals{}.by(0.5));
    arrivals.note(1e9);
    CHECK(arrivals.by(1.0) < 12); // the last bin
    CHECK(Arrivals{}.by(0.5) < 1e-3);
}

TEST_CASE("t_C, incast and rate follow what they see, within their limits") {
    EarlyEnd early(0.010);
    CHECK(early.patience(1000) == doctest::Approx(0.001));
    CHECK(early.patience(20) == doctest::Approx(0.002)); // four of them
    early.note(0.008, 0.01);
    CHECK(early.typical() == 0.008); // the first stage tells it, and each one after a little
    CHECK(early.share() == doctest::Approx(0.2));
    early.note(0.010, 0.0005);
    CHECK(early.typical() == doctest::Approx(0.0081));
    for (int stage = 0; stage < 200; ++stage) {
        early.note(0.004, 0.0);
    }
    CHECK(early.share() == doctest::Approx(0.01));
    CHECK(early.typical() == doctest::Approx(0.004).epsilon(0.01));
    for (int stage = 0; stage < 20; ++stage) {
        early.note(0.004, 1.0);
    }
    CHECK(early.share() == 0.5);
    CHECK(EarlyEnd::sample(End::Full, 0.003, 1.0, 0.01) == 0.003);
    CHECK(EarlyEnd::sample(End::Early, 0.003, 0.5, 0.01) == doctest::Approx(0.006));
    CHECK(EarlyEnd::sample(End::Bound, 0.0101, 0.5, 0.01) == 0.01);
    CHECK(EarlyEnd::sample(End::Bound, 0.004, 0.8, 0.01) ==
          doctest::Approx(0.005)); // a cut scatter

    Incast incast(4);
    for (const int wanted : {2, 3, 3}) {
        incast.note(true);
        CHECK(incast.wanted() == wanted);
    }
    incast.note(false);
    incast.note(false);
    CHECK(incast.wanted() == 1);
}

TEST_CASE("what a stage has waited is the time since its latest packet") {
    Slot slot;
    slot.last.resize(2);
    slot.came(0, true, 1.0);
    slot.came(0, true, 2.0);
    CHECK(slot.ended == 1);
    slot.came(1, true, 3.0);
    slot.came(0, false, 4.0); // overtaken by the others
    CHECK(slot.ended == 2);
    CHECK(slot.total == 4);
    CHECK(slot.last_time == 4.0);
    slot.skips = true;
    slot.clear(); // for another bucket
    CHECK_FALSE(slot.skips);
}

TEST_CASE("each bucket has one owner for each shard, another one in the next bucket") {
    for (std::uint64_t bucket = 0; bucket < 9; ++bucket) {
        std::set<std::size_t> shards;
        for (std::size_t rank = 0; rank < 5; ++rank) {
            shards.insert(shard_of(rank, bucket, 5));
            CHECK(shard_of(rank, bucket, 5) != shard_of(rank, bucket + 1, 5));
        }
        CHECK(shards.size() == 5);
    }
    CHECK(shard_floats(10007, 4, 256) * 4 >= 10240);
    CHECK(shard_floats(1, 3, 2) == 1);
}
