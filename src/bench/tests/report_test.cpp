#include "common/report.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

using namespace bench;

namespace {

struct Closed {
    void operator()(std::FILE* file) const { (void)std::fclose(file); }
};

// A report of two sizes, and what it has printed.
class Written {
  public:
    explicit Written(std::optional<bool> valid = true) {
        report.fact("ranks", std::uint64_t{2}, "Ranks");
        report.fact("hosts", std::vector<std::string>{"n1", "n2"}, "Hosts");
        report.set_columns({{"Size", -6, "size"},
                            {"P50(us)", 10, "latency", "p50", kToMicro, 2, 6},
                            {"Valid", 6, "valid"}},
                           "  ", "# ");
        report.print_facts();
        report.print_titles();
        report.add(row(8, 2e-6, true));
        report.add(row(16, 2e-7, valid));
    }

    static Row row(std::uint64_t size, double time, std::optional<bool> valid) {
        return {{"size", size, "B"},
                {"latency", statistics_of({time, time, 2 * time}, time, {42}), "s"},
                {"valid", value_of(valid)}};
    }

    [[nodiscard]] std::string json(std::size_t expected = 2, int signal = 0) const {
        return report.json(OptionTable("program"), expected, signal);
    }

    [[nodiscard]] std::string printed() const {
        std::string text(1000, ' ');
        CHECK(std::fseek(file.get(), 0, SEEK_SET) == 0);
        text.resize(std::fread(text.data(), 1, text.size(), file.get()));
        return text;
    }

    std::unique_ptr<std::FILE, Closed> file{std::tmpfile()};
    Report report{file.get(), "program", "latency"};
};

bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("table and JSON are made from the same results") {
    Written written;
    CHECK(written.report.end("", OptionTable("program"), 2, "sizes", 0) == kSuccess);
    CHECK(written.printed() == "# Ranks: 2\n# Hosts: n1 n2\n"
                               "# Size     P50(us) Valid\n"
                               "  8           2.00  Pass\n"
                               "  16      0.200000  Pass\n"
                               "# Complete: 2 sizes\n");
    const std::string json = written.json();
    CHECK(has(json, "\"units\": {\n    \"size\": \"B\",\n    \"latency\": \"s\"\n  }"));
    CHECK(has(json, "\"size\": 16,\n      \"latency\": {\n        \"avg\": 2e-07"));
    CHECK(has(json, "\"p42\": 2e-06"));
    CHECK(has(json, "\"p99.9\": 2e-06"));
    CHECK(has(json, "\"validation\": \"passed\""));
    CHECK(has(json, "\"complete\": true"));
}

TEST_CASE("a run is complete only if nothing is missing, wrong, failed or interrupted") {
    CHECK(has(Written(false).json(), "\"validation\": \"failed\""));
    CHECK(has(Written(false).json(), "\"complete\": false"));
    CHECK(has(Written().json(3), "\"complete\": false"));
    CHECK(has(Written().json(2, SIGINT), "\"interrupted\": \"SIGINT\",\n  \"complete\": false"));
    Written failed;
    failed.report.fail("rank 1 died");
    CHECK(has(failed.json(), "\"failures\": [\n    \"rank 1 died\"\n  ]"));
    CHECK(has(failed.json(), "\"complete\": false"));
    CHECK(failed.report.end("", OptionTable("program"), 2, "sizes", 0) == kFailure);
    CHECK(has(failed.printed(), "# Failed: rank 1 died\n# Incomplete: after 2 of 2 sizes\n"));
}

TEST_CASE("what is no number stands as a dash and as null") {
    const Row row = {{"variation", std::numeric_limits<double>::quiet_NaN(), "1"}, {"valid", {}}};
    CHECK(cell({"Variation", 4, "variation"}, row) == "-");
    CHECK(cell({"Valid", 4, "valid"}, row) == "-");
    CHECK(cell({"Other", 4, "other"}, row) == "-");
}
