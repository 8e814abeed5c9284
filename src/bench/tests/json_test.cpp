#include "common/json.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

TEST_CASE("objects and arrays nest") {
    bench::JsonWriter json;
    json.begin_object();
    json.member("name", "latency");
    json.member("ranks", std::uint64_t{2});
    json.key("results");
    json.begin_array();
    json.value(0.25);
    json.value(true);
    json.end_array();
    json.key("empty");
    json.begin_array();
    json.end_array();
    json.end_object();
    CHECK(json.text() == "{\n"
                         "  \"name\": \"latency\",\n"
                         "  \"ranks\": 2,\n"
                         "  \"results\": [\n"
                         "    0.25,\n"
                         "    true\n"
                         "  ],\n"
                         "  \"empty\": []\n"
                         "}\n");
}

TEST_CASE("text is escaped") {
    bench::JsonWriter json;
    json.value("a\"b\\c\n\x01");
    CHECK(json.text() == "\"a\\\"b\\\\c\\u000a\\u0001\"\n");
}

TEST_CASE("numbers that JSON lacks become null") {
    bench::JsonWriter json;
    json.begin_array();
    json.value(std::numeric_limits<double>::quiet_NaN());
    json.value(std::numeric_limits<double>::infinity());
    json.end_array();
    CHECK(json.text() == "[\n  null,\n  null\n]\n");
}
