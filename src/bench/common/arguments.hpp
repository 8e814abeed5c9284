// Strict reading of command line values: the whole text must be what it claims to be.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

/// The command line is wrong. The text is one sentence for the user; programs exit with code 2.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The parts of a text between its separators; one more than there are separators.
std::vector<std::string> split(std::string_view text, char separator);

/// Without zeros at its end.
std::string plain(double number);

/// A decimal number in [minimum, maximum], its digits grouped by "_" or not, as in Python; `option`
/// names it in the error.
std::uint64_t parse_count(std::string_view option, std::string_view text, std::uint64_t minimum,
                          std::uint64_t maximum);

/// A positive number of seconds up to 1e7, e.g. "0.5".
double parse_seconds(std::string_view option, const std::string& text);

/// "MAX", "MIN:" or "MIN:MAX" in bytes; what is not given keeps its default.
struct SizeRange {
    std::uint64_t minimum;
    std::uint64_t maximum;
};
SizeRange parse_size_range(std::string_view option, std::string_view text, SizeRange defaults,
                           std::uint64_t limit);

/// Words, and the value of each.
template <class Value, std::size_t Count>
using Choices = std::array<std::pair<std::string_view, Value>, Count>;

/// The value of a word that is one of a few.
template <class Value, std::size_t Count>
Value parse_choice(std::string_view option, std::string_view text,
                   const Choices<Value, Count>& choices) {
    std::string known;
    for (const auto& [word, value] : choices) {
        if (text == word) {
            return value;
        }
        known += (known.empty() ? "" : ", ") + std::string(word);
    }
    throw UsageError("option " + std::string(option) + ": \"" + std::string(text) +
                     "\" is none of " + known);
}

/// The word of a value; empty for a value that has none.
template <class Value, std::size_t Count>
std::string_view word_of(const Choices<Value, Count>& choices, Value value) {
    for (const auto& [word, each] : choices) {
        if (each == value) {
            return word;
        }
    }
    return {};
}

/// "2000,4000": decimal numbers in [minimum, maximum], at most `most` of them.
std::vector<std::uint64_t> parse_counts(std::string_view option, std::string_view text,
                                        std::uint64_t minimum, std::uint64_t maximum,
                                        std::size_t most);

/// "50,90,99": whole percentiles from 0 to 100, at most `most` of them.
std::vector<unsigned> parse_percentiles(std::string_view option, std::string_view text,
                                        std::size_t most);

} // namespace bench
