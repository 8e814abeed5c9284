// Random command lines for a program's parser of options: each must be taken or refused with one
// sentence, whatever it is.
#pragma once

#include "common/arguments.hpp"

#include <doctest/doctest.h>

#include <getopt.h>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace bench_tests {

constexpr int kCommandLines = 20'000;

/// Values that options of any kind could mistake for theirs.
inline const std::vector<std::string>& odd_values() {
    static const std::vector<std::string> values = {
        "",         "-",    "--",        "0",    "1",          "-1",
        "+1",       "007",  "1e3",       "0x10", "1.5",        "nan",
        "inf",      "-inf", "1e999",     "0.5",  "2147483648", "18446744073709551616",
        "1,2",      ",",    "1,,2",      "1:2",  ":",          "1:",
        "4KiB",     "/",    "/dev/null", "a",    "ab cd",      "%s%n",
        "\xff\xfe", "\n"};
    return values;
}

/// One random line: options of the program, their usual values, odd values and random bytes.
inline std::vector<std::string> random_line(std::mt19937& random,
                                            const std::vector<std::string>& words) {
    const auto below = [&random](std::size_t limit) { return random() % limit; };
    std::vector<std::string> line = {"program"};
    for (std::size_t count = below(7); count > 0; --count) {
        switch (below(4)) {
        case 0:
            line.push_back(odd_values()[below(odd_values().size())]);
            break;
        case 1: {
            std::string bytes;
            for (std::size_t length = below(12); length > 0; --length) {
                bytes += static_cast<char>(1 + below(255));
            }
            line.push_back((below(2) == 0 ? "-" : "") + bytes);
            break;
        }
        default:
            line.push_back(words[below(words.size())]);
            break;
        }
    }
    return line;
}

/// Gives `parse(argc, argv)` many random lines. `words` are the program's options and values that
/// they take. Any other exception than UsageError is a failure, and so is a refusal without words.
template <class Parse>
void fuzz_arguments(const std::vector<std::string>& words, Parse parse) {
    std::mt19937 random(1); // NOLINT(cert-msc51-cpp): the same lines every time
    int taken = 0;
    int refused = 0;
    for (int number = 0; number < kCommandLines; ++number) {
        std::vector<std::string> line = random_line(random, words);
        std::vector<char*> arguments;
        arguments.reserve(line.size() + 1);
        for (std::string& word : line) {
            arguments.push_back(word.data());
        }
        arguments.push_back(nullptr);
        optind = 0; // getopt begins anew
        try {
            parse(static_cast<int>(line.size()), arguments.data());
            ++taken;
        } catch (const bench::UsageError& error) {
            ++refused;
            CHECK_FALSE(std::string(error.what()).empty());
        }
    }
    optind = 0;
    // Both must happen, or the words are not those of the program.
    CHECK(taken > 0);
    CHECK(refused > 0);
}

} // namespace bench_tests
