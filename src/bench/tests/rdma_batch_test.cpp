#include "rdma_batch/accounting.hpp"
#include "rdma_batch/numa.hpp"
#include "rdma_batch/options.hpp"
#include "rdma_batch/pattern.hpp"
#include "rdma_batch/plan.hpp"
#include "rdma_batch/report.hpp"
#include "tests/fuzzed_arguments.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace rdma_batch;

namespace {

Options parsed(const std::vector<const char*>& words) {
    std::vector<std::string> texts = {"rdma_batch"};
    texts.insert(texts.end(), words.begin(), words.end());
    std::vector<char*> arguments;
    arguments.reserve(texts.size() + 1);
    for (std::string& text : texts) {
        arguments.push_back(text.data());
    }
    const int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    return parse_options(count, arguments.data());
}

RowResult row_of(const std::vector<Sample>& samples) {
    return make_row({1000, 4}, 4, samples, true);
}

} // namespace

TEST_CASE("a row's figures follow from its batches") {
    const RowResult row = row_of({{2e-6, 4000}, {1e-6, 4000}, {3e-6, 4000}});
    CHECK(row.ascending.front() == doctest::Approx(1e-6));
    CHECK(row.average == doctest::Approx(2e-6));
    CHECK(row.max_bandwidth == doctest::Approx(4e9));
    CHECK(row.average_bandwidth == doctest::Approx(2e9));
    CHECK_FALSE(broken_identity(row));
}

TEST_CASE("each identity that a row breaks is told") {
    const RowResult good = row_of({{2e-6, 4000}, {1e-6, 4000}});
    RowResult row = good;
    row.bytes -= 1000;
    CHECK(*broken_identity(row) == "total = size x batch: expected 4000 bytes, found 3000");
    row = good;
    row.max_bandwidth *= 1.01;
    CHECK(broken_identity(row)->find("best bandwidth = total / least time") == 0);
    row = good;
    row.average_bandwidth *= 0.99;
    CHECK(broken_identity(row)->find("average bandwidth = total / average time") == 0);
}

TEST_CASE("a batch that completed other bytes than the first is refused, as are no batches") {
    CHECK_THROWS_AS((void)row_of({{1e-6, 4000}, {1e-6, 3000}}), std::runtime_error);
    CHECK_THROWS_AS((void)row_of({}), std::invalid_argument);
}

TEST_CASE("together, a batch takes as long as its slowest part") {
    const std::vector<Sample> fast = {{1e-6, 4000}, {4e-6, 4000}};
    const std::vector<Sample> slow = {{2e-6, 4000}, {2e-6, 4000}};
    const RowResult both = aggregate({fast, slow}, row_of(fast), true);
    CHECK(both.bytes == 8000);
    CHECK(both.ascending == std::vector<double>{2e-6, 4e-6});
    CHECK(both.max_bandwidth == doctest::Approx(4e9));
    CHECK_FALSE(broken_identity(both, 2));
    CHECK(broken_identity(both, 1));
    CHECK_THROWS_AS((void)aggregate({fast, {{1e-6, 4000}}}, row_of(fast), true),
                    std::runtime_error);
}

TEST_CASE("shares of queue pairs are neighbours, differ by one, and lose nothing") {
    for (const std::uint64_t batch : {1U, 7U, 128U, 32768U}) {
        for (const unsigned pairs : {1U, 2U, 3U, 16U}) {
            const std::vector<Share> shares = split(batch, pairs);
            REQUIRE(shares.size() == pairs);
            std::uint64_t next = 0;
            for (const Share& share : shares) {
                CHECK(share.first == next);
                CHECK(share.count >= batch / pairs);
                CHECK(share.count <= batch / pairs + 1);
                next += share.count;
            }
            CHECK(next == batch);
        }
    }
}

TEST_CASE("a chain is no longer than the option, the queue and what is left") {
    CHECK(chain_length(0, 100, 64, 1024) == 64);
    CHECK(chain_length(64, 100, 64, 1024) == 36);
    CHECK(chain_length(0, 100, 64, 16) == 16);
}

TEST_CASE("a buffer holds all transfers, one byte apart, or as many as there is memory") {
    const Layout whole = lay_out({1024, 256}, 1U << 20U);
    CHECK(whole.slots == 256);
    CHECK(whole.bytes() == 1025 * 256);
    CHECK(whole.offset(255) == 1025 * 255);
    const Layout capped = lay_out({1024, 256}, 10250);
    CHECK(capped.slots == 10);
    CHECK(capped.offset(13) == 3 * 1025);
    CHECK(capped.bytes() <= 10250);
    CHECK_THROWS_AS((void)lay_out({1024, 1}, 1024), bench::UsageError);
    CHECK(buffer_bytes({{8, 256}, {1024, 4}}, 1U << 20U) == 4100);
}

TEST_CASE("the comparison finds any byte, in slots and in gaps") {
    for (const std::uint64_t size : {1U, 3U, 8U, 13U}) {
        const Layout layout{size, 5};
        std::vector<std::byte> data(layout.bytes());
        fill(data.data(), layout, 7);
        CHECK_FALSE(difference(data.data(), layout, 7));
        for (std::byte& each : data) {
            each ^= std::byte{1};
            CHECK(difference(data.data(), layout, 7));
            each ^= std::byte{1};
        }
        clear(data.data(), layout, 7);
        CHECK(difference(data.data(), layout, 7)->find("transfer 0, byte 0") == 0);
    }
}

TEST_CASE("sweeps double from their first value, or are listed") {
    CHECK(parsed({"--all"}).shapes().size() == 18);
    CHECK(parsed({"--all"}).shapes().back().size == 1U << 20U);
    CHECK(parsed({"--all-batch"}).shapes().size() == 16);
    CHECK(parsed({"--all-batch"}).shapes().back().batch == 32768);
    CHECK(parsed({"--all", "--sizes", "8:64"}).shapes().size() == 4);
    const auto few = parsed({"--all", "--sizes", "8,100"}).shapes();
    REQUIRE(few.size() == 2);
    CHECK(few[1].size == 100);
    CHECK(few[1].batch == 256);
    CHECK(parsed({"--buffer-size", "64"}).shapes().size() == 1);
}

TEST_CASE("the target's name makes the initiator") {
    CHECK(parsed({}).host.empty());
    CHECK(parsed({"--op", "write", "node1"}).host == "node1");
    CHECK(parsed({"--poll_cq_mode", "event", "-p", "2000"}).poll == Waiting::Event);
}

TEST_CASE("the lines that MORI-IO's page prints are taken, what changes nothing is told") {
    const auto rows = [](std::vector<const char*> words, std::vector<std::string> notes) {
        const Options target = parsed(words);
        words.push_back("node1");
        const Options initiator = parsed(words);
        CHECK(initiator.notes == notes);
        CHECK(target.notes == notes);
        CHECK(initiator.own_host == words[0] + std::string("--host=").size());
        return initiator.shapes().size();
    };
    const std::string log = "option --log-level changes nothing: this program has no log";
    CHECK(rows({"--host=10.194.129.65"}, {}) == 1);
    CHECK(rows({"--host=10.235.192.60", "--all", "--enable-sess", "--enable-batch-transfer",
                "--num-qp-per-transfer", "2", "--num-target-dev", "8", "--num-initiator-dev", "8"},
               {}) == 18);
    const auto line = [](const char* pairs, const char* sweep) -> std::vector<const char*> {
        return {"--host=10.235.192.60",
                "--enable-batch-transfer",
                "--enable-sess",
                "--buffer-size",
                "1024",
                "--transfer-batch-size",
                "128",
                "--num-initiator-dev",
                "1",
                "--num-target-dev",
                "1",
                "--num-qp-per-transfer",
                pairs,
                sweep,
                "--num-worker-threads",
                "1",
                "--log-level",
                "info",
                "--op-type",
                "write",
                "--poll_cq_mode",
                "polling"};
    };
    CHECK(rows(line("4", "--all"),
               {log, "option --buffer-size changes nothing: --all sweeps the size"}) == 18);
    CHECK(rows(line("16", "--all-batch"),
               {log, "option --transfer-batch-size changes nothing: --all-batch sweeps the "
                     "batch"}) == 16);
}

TEST_CASE("devices of the two ends may be of different numbers") {
    CHECK(parsed({"--num-initiator-dev", "2", "--dev", "a,b", "node1"}).notes.empty());
    CHECK(parsed({"--num-initiator-dev", "2", "--dev", "a"}).own_devices() == 1);
    const Options more = parsed({"--num-target-dev", "8", "node1"});
    REQUIRE(more.notes.size() == 1);
    CHECK(more.notes.front().find("7 of 8 target devices are not used") == 0);
}

TEST_CASE("options that make no sense are one sentence") {
    for (const auto& words : std::vector<std::vector<const char*>>{
             {"--op", "send"},
             {"--all", "--all-batch"},
             {"--sizes", "64"},
             {"--batches", "64"},
             {"--all", "--sizes", "0:8"},
             {"--op", "write", "--max-rd-atomic", "4"},
             {"--op", "read", "--inline", "64"},
             {"--post-batch", "4"},
             {"--inject-error", "--no-validate"},
             {"--num-initiator-dev", "2", "--dev", "a,b"},
             {"--num-target-dev", "2", "--dev", "a,b", "node1"},
             {""},
             {"--dev", "a,b"},
             {"--dev", "a,"},
             {"--num-worker-threads", "2"},
             {"--mtu", "1500"},
             {"--numa", "near"},
             {"--iters", "0"},
             {"--wait", "0"},
             {"--json"},
             {"--nonsense"},
             {"node1", "node2"},
         }) {
        CAPTURE(words.back());
        CHECK_THROWS_AS((void)parsed(words), bench::UsageError);
    }
}

TEST_CASE("any command line is taken or refused with one sentence") {
    bench_tests::fuzz_arguments(
        {"--op",
         "write",
         "read",
         "--all",
         "--all-batch",
         "--sizes",
         "8:64",
         "--batches",
         "1,2",
         "--buffer-size",
         "--transfer-batch-size",
         "--enable-batch-transfer",
         "--enable-sess",
         "--num-qp-per-transfer",
         "2",
         "--num-worker-threads",
         "--num-initiator-dev",
         "--num-target-dev",
         "--dev",
         "mlx5_0:1",
         "--poll-cq-mode",
         "event",
         "--iters",
         "--warmup",
         "--time-budget",
         "0.1",
         "--gid-index",
         "--port",
         "--mtu",
         "1024",
         "--sl",
         "--sq-depth",
         "--post-batch",
         "--max-rd-atomic",
         "--inline",
         "--max-mem",
         "--numa",
         "device",
         "-p",
         "--wait",
         "--host",
         "--log-level",
         "--no-validate",
         "--inject-error",
         "--columns",
         "seed",
         "--json",
         "out",
         "node1"},
        [](int argc, char** argv) { (void)parse_options(argc, argv).shapes(); });
}

TEST_CASE("lists of CPUs") {
    CHECK(parse_cpu_list("0") == std::vector<unsigned>{0});
    CHECK(parse_cpu_list("0-2,8") == std::vector<unsigned>{0, 1, 2, 8});
    for (const char* text : {"", "a", "0-", "0,", "0 1", "99999"}) {
        CAPTURE(text);
        CHECK_THROWS_AS((void)parse_cpu_list(text), std::runtime_error);
    }
}

TEST_CASE("the table is MORI-IO's") {
    const RowResult row = make_row({8, 128}, 128, {{33.38e-6, 1024}, {39.28e-6, 1024}}, true);
    CHECK(table("Initiator Rank 0", {rdma_batch::row_of(row, 0)}, Columns::Seed) ==
          "+--------------------------------------------------------------------------------------"
          "------------------+\n"
          "|                                            Initiator Rank 0                          "
          "                  |\n"
          "+-------------+-----------+----------------+---------------+---------------+-----------"
          "---+--------------+\n"
          "| MsgSize (B) | BatchSize | TotalSize (MB) | Max BW (GB/s) | Avg Bw (GB/s) | Min Lat (u"
          "s) | Avg Lat (us) |\n"
          "+-------------+-----------+----------------+---------------+---------------+-----------"
          "---+--------------+\n"
          "|      8      |    128    |      0.00      |      0.03     |      0.03     |    33.38   "
          "  |    36.33     |\n"
          "+-------------+-----------+----------------+---------------+---------------+-----------"
          "---+--------------+\n");
}
