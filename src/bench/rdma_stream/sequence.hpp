// Which of the numbered messages of a stream came.
#pragma once

#include <cstdint>
#include <vector>

namespace rdma_stream {

/// Counts exactly, in any order of arrival: each number has one bit, so a late message is told from
/// a repeated one, and no gap is lost among others.
class Sequence {
  public:
    /// For a stream of `total` messages, numbered from 0.
    explicit Sequence(std::uint64_t total) : seen_((total + 63) / 64), total_(total) {}

    void arrive(std::uint64_t number) {
        if (number >= total_) {
            ++foreign_;
            return;
        }
        std::uint64_t& word = seen_[number / 64];
        const std::uint64_t bit = std::uint64_t{1} << (number % 64);
        if ((word & bit) != 0) {
            ++duplicates_;
            return;
        }
        word |= bit;
        ++received_;
        if (number < end_) {
            ++out_of_order_;
        } else {
            end_ = number + 1;
        }
    }

    [[nodiscard]] bool complete() const { return received_ == total_; }

    /// Different messages that came.
    [[nodiscard]] std::uint64_t received() const { return received_; }
    /// Messages that came once more.
    [[nodiscard]] std::uint64_t duplicates() const { return duplicates_; }
    /// Messages that came after a later one.
    [[nodiscard]] std::uint64_t out_of_order() const { return out_of_order_; }
    /// Numbers that the stream does not have.
    [[nodiscard]] std::uint64_t foreign() const { return foreign_; }

    /// One more than the highest number that came.
    [[nodiscard]] std::uint64_t end() const { return end_; }

  private:
    std::vector<std::uint64_t> seen_;
    std::uint64_t total_;
    std::uint64_t end_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t duplicates_ = 0;
    std::uint64_t out_of_order_ = 0;
    std::uint64_t foreign_ = 0;
};

} // namespace rdma_stream
