#include "common/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace bench {

namespace {

std::string quoted(std::string_view option, std::string_view text) {
    return "option " + std::string(option) + ": \"" + std::string(text) + "\"";
}

} // namespace

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(separator, start), text.size());
        parts.emplace_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

std::string plain(double number) {
    std::string text = std::to_string(number);
    text.erase(text.find_last_not_of('0') + 1);
    return text.back() == '.' ? text.substr(0, text.size() - 1) : text;
}

std::uint64_t parse_count(std::string_view option, std::string_view text, std::uint64_t minimum,
                          std::uint64_t maximum) {
    std::string digits(text);
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    std::uint64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (error != std::errc() || stop != end || value < minimum || value > maximum) {
        throw UsageError(quoted(option, text) + " is not a whole number from " +
                         std::to_string(minimum) + " to " + std::to_string(maximum) +
                         " (no sign, no unit)");
    }
    return value;
}

double parse_seconds(std::string_view option, const std::string& text) {
    double value = 0.0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    constexpr double kMost = 1e7; // what clocks and polls count is far below their limits
    if (error != std::errc() || stop != end || !(value > 0.0 && value <= kMost)) {
        throw UsageError(quoted(option, text) +
                         " is not a positive number of seconds, such as 0.5, up to 1e7");
    }
    return value;
}

SizeRange parse_size_range(std::string_view option, std::string_view text, SizeRange defaults,
                           std::uint64_t limit) {
    SizeRange range = defaults;
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) {
        range.maximum = parse_count(option, text, 1, limit);
    } else {
        range.minimum = parse_count(option, text.substr(0, colon), 0, limit);
        if (colon + 1 < text.size()) {
            range.maximum = parse_count(option, text.substr(colon + 1), 1, limit);
        }
    }
    if (range.minimum > range.maximum) {
        throw UsageError(quoted(option, text) + " asks for sizes from " +
                         std::to_string(range.minimum) + " down to " +
                         std::to_string(range.maximum) + "; the smaller one comes first");
    }
    return range;
}

std::vector<std::uint64_t> parse_counts(std::string_view option, std::string_view text,
                                        std::uint64_t minimum, std::uint64_t maximum,
                                        std::size_t most) {
    std::vector<std::uint64_t> counts;
    for (const std::string& each : split(text, ',')) {
        counts.push_back(parse_count(option, each, minimum, maximum));
    }
    if (counts.size() > most) {
        throw UsageError(quoted(option, text) + " lists more than " + std::to_string(most) +
                         " numbers");
    }
    return counts;
}

std::vector<unsigned> parse_percentiles(std::string_view option, std::string_view text,
                                        std::size_t most) {
    const std::vector<std::uint64_t> counts = parse_counts(option, text, 0, 100, most);
    return {counts.begin(), counts.end()};
}

} // namespace bench
