#include "allreduce_lab/check.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace allreduce_lab {

namespace {

// Of a float's rounding in a transform and its inverse: about 3e-7 of the block's root mean square.
constexpr double kRounding = 2e-6;

struct Block {
    double error = 0.0;  ///< of what must be exact
    double energy = 0.0; ///< of everything
    std::uint64_t exact = 0;
};

} // namespace

void look_at(const Compared& vectors, int ranks, std::size_t block, const Wire& wire,
             const Came& came, Deviation& result) {
    const std::size_t filled = (vectors.elements + block - 1) / block * block;
    std::vector<Block> blocks(filled / block);
    for (std::size_t place = 0; place < filled; ++place) {
        const std::size_t which = vectors.spread ? wire.block_at(place) : place / block;
        Block& own = blocks[which];
        const std::uint8_t lacks = came.at(place);
        const double found = vectors.found[place];
        const double sum = vectors.expected[place];
        own.energy += found * found + sum * sum;
        if (lacks == 0 || lacks == Came::kNothing) {
            const double must = lacks == 0 ? sum : vectors.substitute[place];
            own.error += (found - must) * (found - must);
            own.exact += lacks == 0 && place < vectors.elements ? 1 : 0;
        } else if (lacks < Came::kMany && vectors.energy > 0) {
            // The mean of what came, times the ranks: what is lacking makes it off by this.
            const double share =
                static_cast<double>(std::min(vectors.elements - which * block, block)) /
                static_cast<double>(block);
            result.lacking.expected +=
                share * vectors.energy * lacks * ranks / static_cast<double>(ranks - lacks);
            result.lacking.found += (found - sum) * (found - sum);
            ++result.lacking.count;
        }
    }
    for (std::size_t each = 0; each < blocks.size(); ++each) {
        const Block& own = blocks[each];
        const double most = vectors.spread ? kRounding * std::sqrt(own.energy) : 0.0;
        result.exact += own.exact;
        if (!result.wrong && !(std::sqrt(own.error) <= most)) {
            result.wrong = {each * block, most / std::sqrt(static_cast<double>(block)),
                            std::sqrt(own.error / static_cast<double>(block)), true};
        }
    }
}

} // namespace allreduce_lab
