#include "allreduce_lab/measure.hpp"

#include "allreduce_lab/training.hpp"
#include "allreduce_lab/vectors.hpp"
#include "common/interrupt.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace allreduce_lab {

namespace {

using Clock = std::chrono::steady_clock;

// Of what a sum is off by because of contributions that it lacks, beside what these make on
// average: 8 standard deviations of a sum of squares, and of how many it says something.
constexpr double kDeviations = 8.0;
constexpr std::uint64_t kFewest = 64;

/// What each rank says after a sum.
struct Word {
    int signal = 0;
    bool stop = false;    ///< the time is over, says rank 0
    double seconds = 0.0; ///< from the barrier to the end of the sum, or to its trouble
    Outcome outcome;
    Deviation deviation;
    bool hit = false;    ///< by other traffic of this rank
    double beside = 0.0; ///< bytes that this rank sent of it
    std::array<char, 200> trouble{};
};

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// gloo's exceptions begin with a file of its sources.
const char* sentence_of(const std::string& words) {
    const std::size_t end = words.front() == '[' ? words.find("] ") : std::string::npos;
    return words.c_str() + (end == std::string::npos ? 0 : end + 2);
}

constexpr std::uint64_t kStepsBetweenTests = 10;

void say_trouble(Word& word, const char* sentence) {
    (void)std::snprintf(word.trouble.data(), word.trouble.size(), "%s", sentence);
}

// With --train the data are gradients, which all ranks get, to know what their sum must be.
void make_data(const Work& work, Turn& turn, Word& word, int rank) {
    try {
        if (work.learner != nullptr) {
            turn.given = work.learner->gradients();
            turn.count = work.elements;
        }
        fill({work.data, work.elements}, turn, rank);
    } catch (const std::exception& error) {
        say_trouble(word, sentence_of(error.what()));
    }
}

Word sum_once(Meeting& meeting, const Options& options, const Work& work, Turn turn,
              const Traffic* traffic) {
    Word word;
    make_data(work, turn, word, options.rank);
    if (options.inject_error && options.rank == options.size - 1) {
        work.data[work.elements / 2] += 1.0F;
    }
    meeting.barrier();
    const Sent before = traffic == nullptr ? Sent{} : traffic->sent();
    const auto begin = Clock::now();
    try {
        if (word.trouble.front() == 0) {
            word.outcome = work.sum();
        }
    } catch (const std::exception& error) {
        say_trouble(word, sentence_of(error.what()));
    }
    word.seconds = seconds_since(begin);
    if (traffic != nullptr) {
        const Sent after = traffic->sent();
        word.hit = before.on || after.on || after.bursts > before.bursts;
        word.beside = static_cast<double>(after.bytes - before.bytes);
        if (traffic->broken() && word.trouble.front() == 0) {
            say_trouble(word, "a connection of the other traffic broke");
        }
    }
    word.signal = bench::interrupted_by();
    if (word.trouble.front() != 0) {
        work.give_up();
    } else if (options.validate) {
        word.deviation = work.compare(turn);
    }
    return word;
}

std::string where(std::uint64_t iteration, std::size_t rank) {
    return "sum " + std::to_string(iteration + 1) + ", rank " + std::to_string(rank);
}

std::string number(double value) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.9g", value);
    return text.data();
}

// A rank in trouble closes its connections, which is trouble for its peers. No clock tells which
// was first, since ranks do not leave a barrier at once: so each is told, those in trouble soonest
// first.
std::string troubles(const std::vector<Word>& words, std::uint64_t iteration) {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < words.size(); ++rank) {
        if (words[rank].trouble.front() != 0) {
            ranks.push_back(rank);
        }
    }
    std::stable_sort(ranks.begin(), ranks.end(), [&](std::size_t left, std::size_t right) {
        return words[left].seconds < words[right].seconds;
    });
    std::string text;
    for (const std::size_t rank : ranks) {
        text += (text.empty() ? where(iteration, rank) : "; rank " + std::to_string(rank)) + ": " +
                words[rank].trouble.data();
    }
    return text;
}

std::string wrong_words(const Deviation::Wrong& wrong) {
    const std::string index = std::to_string(wrong.index);
    return wrong.block ? "wrong block from element " + index + ": expected an error of at most " +
                             number(wrong.expected) + " (root mean square) in what lacks nothing" +
                             ", found " + number(wrong.found)
                       : "wrong element " + index + ": expected " + number(wrong.expected) +
                             ", found " + number(wrong.found);
}

// Why the sum cannot be accepted, or nothing.
std::string judge(const std::vector<Word>& words, std::uint64_t iteration) {
    if (std::string found = troubles(words, iteration); !found.empty()) {
        return found;
    }
    for (std::size_t rank = 0; rank < words.size(); ++rank) {
        const Deviation& deviation = words[rank].deviation;
        if (deviation.wrong) {
            return where(iteration, rank) + ": " + wrong_words(*deviation.wrong);
        }
        const Deviation::Lacking& lacking = deviation.lacking;
        const double spread = kDeviations * std::sqrt(2.0 / static_cast<double>(lacking.count));
        if (lacking.count >= kFewest &&
            !(std::fabs(lacking.found / lacking.expected - 1) <= spread)) {
            return where(iteration, rank) + ": expected what lacks contributions of ranks to be " +
                   "off by " + number(std::sqrt(lacking.expected)) + ", found " +
                   number(std::sqrt(lacking.found)) + ": something else was summed";
        }
    }
    return {};
}

void note_errors(Result& result, const std::vector<Word>& words, std::size_t elements) {
    double error = 0.0;
    bool summed = false;
    for (const Word& word : words) {
        summed = summed || word.deviation.energy > 0.0;
        if (word.deviation.energy > 0.0) {
            const double rms = std::sqrt(word.deviation.energy / static_cast<double>(elements));
            error = std::max(error, word.deviation.error / word.deviation.energy);
            result.peak = std::max(result.peak, word.deviation.peak / rms);
        }
    }
    if (!summed) {
        return;
    }
    ++result.inexact;
    result.error += (error - result.error) / static_cast<double>(result.inexact);
}

// Whether to go on after this sum.
bool note(Result& result, const std::vector<Word>& words, const Options& options, const Work& work,
          std::uint64_t iteration) {
    Outcome outcome;
    std::uint64_t skipped = 0;
    double slowest = 0.0;
    for (const Word& word : words) {
        add(outcome, word.outcome);
        skipped = std::max(skipped, word.outcome.skipped);
        slowest = std::max(slowest, word.seconds);
        result.signal = result.signal == 0 ? word.signal : result.signal;
    }
    if (result.signal != 0) { // which cuts a sum short
        return false;
    }
    result.failure = judge(words, iteration);
    if (!result.failure.empty()) {
        return false;
    }
    if (iteration >= options.warmup) {
        result.seconds.push_back(slowest);
        bool hit = false;
        for (const Word& word : words) {
            hit = hit || word.hit;
            result.beside += word.beside;
        }
        result.hit += hit ? 1 : 0;
        result.disagreed += outcome.skipped == words.size() * skipped ? 0 : 1;
        outcome.skipped = words.size() * skipped; // who used what others skipped takes it back
        add(result.outcome, outcome);
        if (options.validate) {
            const std::uint64_t before = result.exact;
            for (const Word& word : words) {
                result.exact += word.deviation.exact;
            }
            const bool used = std::any_of(words.begin(), words.end(), [](const Word& word) {
                return word.outcome.skipped == 0;
            });
            result.unchecked += used && result.exact == before ? 1 : 0;
        }
        if (outcome.lost > 0 && options.validate) {
            note_errors(result, words, work.elements);
        }
    }
    return true;
}

// A step with the sum, untimed, as computing is; what the ranks know of each other is timed.
void learn(Meeting& meeting, const Options& options, Result& result, const Work& work,
           const std::vector<Word>& words) {
    Learner& learner = *work.learner;
    if (std::all_of(words.begin(), words.end(),
                    [](const Word& word) { return word.outcome.skipped == 0; })) {
        learner.learn(work.data);
    }
    const std::uint64_t step = result.seconds.size();
    if (options.resync > 0 && step % options.resync == 0) {
        result.drift = std::max(result.drift, learner.drift());
        const auto begin = Clock::now();
        learner.resync();
        const std::vector<double> all = meeting.exchange(seconds_since(begin));
        result.seconds.back() += *std::max_element(all.begin(), all.end());
    }
    if (step % kStepsBetweenTests == 0) {
        const std::vector<double> all = meeting.exchange(learner.accuracy());
        result.accuracy.push_back(*std::min_element(all.begin(), all.end()));
        result.learned_seconds.push_back(
            std::accumulate(result.seconds.begin(), result.seconds.end(), 0.0));
    }
    if (step == options.iterations) {
        result.drift = std::max(result.drift, learner.drift());
    }
}

} // namespace

std::vector<Result> measure(Meeting& meeting, const Options& options,
                            const std::vector<Work>& works, const Traffic* traffic) {
    std::vector<Result> results(works.size());
    for (Result& result : results) {
        result.seconds.reserve(options.iterations);
    }
    auto begin = Clock::now();
    bool going = true;
    bool more = true;
    const std::uint64_t most = options.warmup + options.iterations;
    for (std::uint64_t iteration = 0; going && more && iteration < most; ++iteration) {
        if (iteration == options.warmup) {
            begin = Clock::now();
        }
        for (std::size_t each = 0; going && each < works.size(); ++each) {
            try {
                Word word =
                    sum_once(meeting, options, works[each], {options.seed, iteration}, traffic);
                word.stop = iteration >= options.warmup && options.time_budget &&
                            seconds_since(begin) >= *options.time_budget;
                const std::vector<Word> words = meeting.exchange(word);
                if (!troubles(words, iteration).empty()) {
                    meeting.barrier(); // names a rank whose end was the trouble of the others
                }
                more = more && !words.front().stop;
                going = note(results[each], words, options, works[each], iteration);
                if (going && works[each].learner != nullptr && iteration >= options.warmup) {
                    learn(meeting, options, results[each], works[each], words);
                }
            } catch (const std::exception& error) { // a rank is lost, or its gradients are
                results[each].failure = std::string(sentence_of(error.what())) + ", at sum " +
                                        std::to_string(iteration + 1);
                going = false;
            }
        }
    }
    return results;
}

} // namespace allreduce_lab
