// The ranks of a run, connected over TCP for what is not measured: they begin together, tell each
// other what they found, and know which of them is gone.
#pragma once

#include "allreduce_lab/rendezvous.hpp"
#include "common/descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace allreduce_lab {

using bench::Descriptor;

/// A rank no longer answers. Every other rank is told the same.
class RankLost : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Whether a socket is connected in time: the kernel alone would try for two minutes.
bool connect_until(const Descriptor& socket, const sockaddr_in& address, double timeout);

/// A star around rank 0.
class Meeting {
  public:
    /// Brings all ranks together. Throws bench::UsageError if one of them does not come in time.
    Meeting(Rendezvous& rendezvous, int rank, int size, in_addr address, double timeout);

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    /// Another number for each run, the same on all ranks.
    [[nodiscard]] std::uint32_t run_word() const { return run_word_; }

    /// Every rank gets the words of all, by rank; none returns before all have come. Throws
    /// RankLost, on all ranks that are left, if one of them does not come: at once if its
    /// connection is closed, after twice the timeout if it is silent.
    template <class Word>
    std::vector<Word> exchange(const Word& word) {
        static_assert(std::is_trivially_copyable_v<Word>);
        std::vector<Word> words(static_cast<std::size_t>(size_));
        exchange(&word, words.data(), sizeof word);
        return words;
    }
    void barrier() { (void)exchange('b'); }

    /// Binds each rank's socket to a free port of its address, and tells all of them, by rank.
    std::vector<sockaddr_in> exchange_ports(const Descriptor& socket, in_addr address);

    /// Does what may fail on one rank because another is gone; `give_up` lets those know that wait
    /// for this one. Throws RankLost, on all ranks.
    template <class Action, class GiveUp>
    void together(const char* what, Action action, GiveUp give_up) {
        bool done = true;
        try {
            action();
        } catch (const bench::UsageError&) {
            throw;
        } catch (const std::exception&) {
            done = false;
            give_up();
        }
        for (const char each : exchange(static_cast<char>(done))) {
            if (each == 0) {
                throw RankLost(std::string("a connection broke during ") + what +
                               ", though all ranks are there");
            }
        }
    }

  private:
    enum class Loss : std::uint32_t { None, Closed, Silent };
    /// What rank 0 says before the words.
    struct Verdict {
        Loss loss;
        std::uint32_t rank;
    };

    void gather_ranks(Rendezvous& rendezvous, in_addr address);
    bool let_in(Descriptor caller);
    void come_to_rank_0(Rendezvous& rendezvous);
    void exchange(const void* word, void* words, std::size_t bytes);
    void collect(const void* word, char* words, std::size_t bytes);
    [[noreturn]] void lose(Verdict verdict) const;

    int rank_;
    int size_;
    double timeout_;
    std::uint32_t run_word_ = 0;
    std::vector<Descriptor> peers_; ///< rank 0: one for each rank; the others: rank 0 alone
};

} // namespace allreduce_lab
