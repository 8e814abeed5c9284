#include "pair_probe/schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <stdexcept>

namespace pair_probe {

std::vector<int> parse_pairs(const std::string& line, int size) {
    constexpr std::size_t kShown = 60;
    const auto refuse = [&line, size]() -> std::runtime_error {
        return std::runtime_error("expected pairs of ranks below " + std::to_string(size) +
                                  R"(, each at most once, or "end", found ")" +
                                  line.substr(0, kShown) + "\"");
    };
    std::vector<int> pairs;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
        constexpr std::size_t kMostDigits = 8;
        if (word.size() > kMostDigits ||
            word.find_first_not_of("0123456789") != std::string::npos) {
            throw refuse();
        }
        pairs.push_back(std::stoi(word));
    }
    std::vector<int> sorted = pairs;
    std::sort(sorted.begin(), sorted.end());
    const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    if (pairs.empty() || pairs.size() % 2 != 0 || twice || sorted.back() >= size) {
        throw refuse();
    }
    return pairs;
}

int partner_of(const std::vector<int>& pairs, int rank) {
    const auto found = std::find(pairs.begin(), pairs.end(), rank);
    if (found == pairs.end()) {
        return -1;
    }
    return is_first(pairs, rank) ? *(found + 1) : *(found - 1);
}

bool is_first(const std::vector<int>& pairs, int rank) {
    const auto found = std::find(pairs.begin(), pairs.end(), rank);
    return (found - pairs.begin()) % 2 == 0;
}

} // namespace pair_probe
