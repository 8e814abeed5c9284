// The pairs of a round, as the command of --steer writes them.
#pragma once

#include <string>
#include <vector>

namespace pair_probe {

/// The ranks of the pairs of a line such as "0 3 1 2": first, second, first, second. Throws
/// std::runtime_error for anything but ranks below `size`, each at most once, in pairs.
std::vector<int> parse_pairs(const std::string& line, int size);

/// The rank that `rank` measures with, or -1.
int partner_of(const std::vector<int>& pairs, int rank);

/// Whether `rank` is the first of its pair.
bool is_first(const std::vector<int>& pairs, int rank);

} // namespace pair_probe
