#include "common/arguments.hpp"

#include <doctest/doctest.h>

#include <string>

using bench::parse_count;
using bench::parse_percentiles;
using bench::parse_seconds;
using bench::parse_size_range;
using bench::UsageError;

TEST_CASE("counts are whole numbers within their range") {
    CHECK(parse_count("-i", "1000", 1, 2000) == 1000);
    for (const char* text :
         {"", "0", "2001", "-1", "+1", "1k", "1.5", " 1", "0x10", "99999999999999999999999"}) {
        CAPTURE(text);
        CHECK_THROWS_AS((void)parse_count("-i", text, 1, 2000), UsageError);
    }
}

TEST_CASE("an error names the option, the text and what was expected") {
    CHECK_THROWS_WITH_AS((void)parse_count("-i", "ten", 1, 20),
                         "option -i: \"ten\" is not a whole number from 1 to 20 (no sign, no unit)",
                         UsageError);
}

TEST_CASE("seconds are positive and no more than clocks can count") {
    CHECK(parse_seconds("--time-budget", "0.5") == 0.5);
    for (const char* text : {"", "0", "-1", "1s", "nan", "inf", "1e308", "99999999999999999999"}) {
        CAPTURE(text);
        CHECK_THROWS_AS((void)parse_seconds("--time-budget", text), UsageError);
    }
}

TEST_CASE("size ranges keep the default of what is not given") {
    const bench::SizeRange defaults{1, 4096};
    CHECK(parse_size_range("-m", "64", defaults, 8192).minimum == 1);
    CHECK(parse_size_range("-m", "64", defaults, 8192).maximum == 64);
    CHECK(parse_size_range("-m", "8:", defaults, 8192).minimum == 8);
    CHECK(parse_size_range("-m", "8:", defaults, 8192).maximum == 4096);
    CHECK(parse_size_range("-m", "8:16", defaults, 8192).maximum == 16);
    for (const char* text : {"", ":", ":8", "16:8", "8:16:32", "8193", "8192:", "-8", "1K"}) {
        CAPTURE(text);
        CHECK_THROWS_AS((void)parse_size_range("-m", text, defaults, 8192), UsageError);
    }
}

TEST_CASE("percentile lists") {
    CHECK(parse_percentiles("-z", "50,90,99", 16) == std::vector<unsigned>{50, 90, 99});
    CHECK(parse_percentiles("-z", "0", 16) == std::vector<unsigned>{0});
    for (const char* text : {"", ",", "50,", ",50", "101", "99.9", "p50", "1,2,3"}) {
        CAPTURE(text);
        CHECK_THROWS_AS((void)parse_percentiles("-z", text, 2), UsageError);
    }
}
