#include "mpi_probe/patterns.hpp"

#include <algorithm>
#include <type_traits>

namespace mpi_probe {

namespace {

constexpr std::uint64_t kPrime = 101;
constexpr int kPoison = 127;

// Calls `use` with `data` as a pointer to the C++ type of the elements.
template <class Pointer, class Use>
auto as_elements(Pointer* data, ElementType type, Use use) {
    constexpr bool kConst = std::is_const_v<Pointer>;
    switch (type) {
    case ElementType::Int:
        return use(static_cast<std::conditional_t<kConst, const int, int>*>(data));
    case ElementType::Float:
        return use(static_cast<std::conditional_t<kConst, const float, float>*>(data));
    case ElementType::Char:
        break;
    }
    return use(static_cast<std::conditional_t<kConst, const signed char, signed char>*>(data));
}

// `table` holds one period of the values, from index 0 on.
void fill_from_table(void* data, std::size_t count, ElementType type,
                     const std::vector<int>& table) {
    as_elements(data, type, [&](auto* elements) {
        using Element = std::remove_reference_t<decltype(*elements)>;
        std::size_t position = 0;
        for (std::size_t index = 0; index < count; ++index) {
            elements[index] = static_cast<Element>(table[position]);
            position = position + 1 == table.size() ? 0 : position + 1;
        }
    });
}

Mismatch check_against_table(const void* data, std::size_t count, ElementType type,
                             const std::vector<int>& table, std::size_t first_position,
                             std::size_t first_index) {
    return as_elements(data, type, [&](const auto* elements) {
        using Element = std::remove_const_t<std::remove_reference_t<decltype(*elements)>>;
        Mismatch mismatch;
        std::size_t position = first_position % table.size();
        for (std::size_t index = 0; index < count; ++index) {
            const auto expected = static_cast<Element>(table[position]);
            if (elements[index] != expected && mismatch.count++ == 0) {
                mismatch.index = first_index + index;
                mismatch.expected = static_cast<double>(expected);
                mismatch.found = static_cast<double>(elements[index]);
            }
            position = position + 1 == table.size() ? 0 : position + 1;
        }
        return mismatch;
    });
}

std::vector<int> pattern_table(const Origin& origin) {
    std::vector<int> table(kPrime);
    const std::uint64_t start = 31 * static_cast<std::uint64_t>(origin.source) +
                                17 * static_cast<std::uint64_t>(origin.destination) +
                                7 * origin.iteration;
    for (std::uint64_t index = 0; index < kPrime; ++index) {
        table[index] = static_cast<int>((start + index) % kPrime);
    }
    return table;
}

} // namespace

std::size_t element_size(ElementType type) {
    switch (type) {
    case ElementType::Int:
        return sizeof(int);
    case ElementType::Float:
        return sizeof(float);
    case ElementType::Char:
        break;
    }
    return 1;
}

void fill_pattern(void* data, std::size_t count, ElementType type, const Origin& origin) {
    fill_from_table(data, count, type, pattern_table(origin));
}

void fill_poison(void* data, std::size_t count, ElementType type) {
    fill_from_table(data, count, type, {kPoison});
}

Mismatch check_pattern(const void* data, std::size_t count, ElementType type, const Origin& origin,
                       std::size_t first_index) {
    return check_against_table(data, count, type, pattern_table(origin), 0, first_index);
}

void corrupt_element(void* data, std::size_t index, ElementType type) {
    as_elements(data, type, [&](auto* elements) {
        using Element = std::remove_reference_t<decltype(*elements)>;
        elements[index] = static_cast<Element>(elements[index] == 0 ? 1 : 0);
    });
}

void add_mismatches(Mismatch& into, const Mismatch& other) {
    const std::uint64_t total = into.count + other.count;
    if (into.count == 0) {
        into = other;
    }
    into.count = total;
}

SumPattern::SumPattern(ElementType type, int ranks) : type_(type), ranks_(ranks) {
    if (type == ElementType::Char) {
        constexpr std::uint64_t kLargestChar = 127;
        values_ = 3;
        const std::uint64_t adders = kLargestChar / values_;
        every_ = (static_cast<std::uint64_t>(ranks) + adders - 1) / adders;
    } else {
        values_ = 97;
        every_ = 1;
    }
    period_ = values_ * every_;
}

int SumPattern::contribution(std::size_t index, int rank, std::uint64_t iteration) const {
    const auto shift = static_cast<std::uint64_t>(rank);
    if ((index + shift) % every_ != 0) {
        return 0;
    }
    return static_cast<int>(1 + (index + 13 * shift + 7 * iteration) % values_);
}

void SumPattern::fill(void* data, std::size_t count, int rank, std::uint64_t iteration) const {
    std::vector<int> table(period_);
    for (std::size_t index = 0; index < table.size(); ++index) {
        table[index] = contribution(index, rank, iteration);
    }
    fill_from_table(data, count, type_, table);
}

Mismatch SumPattern::check(const void* data, std::size_t count, std::size_t first_element,
                           std::uint64_t iteration) const {
    std::vector<int> table(period_);
    for (std::size_t index = 0; index < table.size(); ++index) {
        for (int rank = 0; rank < ranks_; ++rank) {
            table[index] += contribution(index, rank, iteration);
        }
    }
    return check_against_table(data, count, type_, table, first_element, 0);
}

} // namespace mpi_probe
