#include "allreduce_lab/learner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <gloo/allgather.h>
#include <gloo/broadcast.h>

namespace allreduce_lab {

namespace {

// All of it chosen by us: a task that some hundred steps learn, and do not finish.
constexpr std::size_t kInputs = 64;
constexpr std::size_t kHidden = 200;
constexpr std::size_t kClasses = 10;
constexpr std::size_t kTeacher = 24; // units of the network that gives the classes
constexpr std::size_t kBatch = 32;
constexpr std::size_t kTests = 2000;
constexpr float kRate = 0.2F;
constexpr float kMomentum = 0.9F;
constexpr float kWhole = 65536.0F;    // of a gradient's 1
constexpr float kMost = 1048576.0F;   // 2^24 over the ranks
constexpr std::uint64_t kRanks = 256; // between the seeds of two runs

// Where its parameters lie.
constexpr std::size_t kBias = kInputs * kHidden;
constexpr std::size_t kOut = kBias + kHidden;
constexpr std::size_t kOutBias = kOut + kHidden * kClasses;
static_assert(kOutBias + kClasses == 15010 && kOutBias + kClasses <= kLearned);

void draw_normal(std::mt19937_64& random, float* data, std::size_t count, float deviation) {
    std::normal_distribution<float> normal(0.0F, deviation);
    std::generate(data, data + count, [&] { return normal(random); });
}

struct Teacher {
    Teacher() {
        std::mt19937_64 random(7); // NOLINT(cert-msc51-cpp): always the same task
        draw_normal(random, in.data(), in.size(), 1.0F / 8);
        draw_normal(random, out.data(), out.size(), 1.0F);
    }
    [[nodiscard]] int class_of(const float* input) const {
        std::array<float, kClasses> scores{};
        for (std::size_t unit = 0; unit < kTeacher; ++unit) {
            float sum = 0.0F;
            for (std::size_t index = 0; index < kInputs; ++index) {
                sum += input[index] * in[index * kTeacher + unit];
            }
            for (std::size_t each = 0; each < kClasses; ++each) {
                scores[each] += std::tanh(2 * sum) * out[unit * kClasses + each];
            }
        }
        return static_cast<int>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    }
    std::array<float, kInputs * kTeacher> in{};
    std::array<float, kTeacher * kClasses> out{};
};

} // namespace

Learner::Learner(Context context, std::uint64_t seed)
    : context_(std::move(context)),
      random_(kRanks * seed + static_cast<std::uint64_t>(context_->rank)), weights_(kLearned),
      momentum_(kLearned), gradient_(kLearned),
      all_(kLearned * static_cast<std::size_t>(context_->size)) {
    std::mt19937_64 fixed(99); // NOLINT(cert-msc51-cpp): the same tests of all
    tests_ = draw(fixed, kTests);
    std::mt19937_64 begin(seed);
    draw_normal(begin, weights_.data(), kBias, 1.4F / 8);
    draw_normal(begin, &weights_[kOut], kHidden * kClasses, 1.0F / 14);
    first_ = weights_;
}

Learner::Samples Learner::draw(std::mt19937_64& random, std::size_t count) {
    static const Teacher teacher;
    Samples samples{std::vector<float>(count * kInputs), std::vector<int>(count)};
    draw_normal(random, samples.inputs.data(), samples.inputs.size(), 1.0F);
    for (std::size_t sample = 0; sample < count; ++sample) {
        samples.classes[sample] = teacher.class_of(&samples.inputs[sample * kInputs]);
    }
    return samples;
}

void Learner::forward(const float* input, float* hidden, float* scores) const {
    std::copy_n(&weights_[kBias], kHidden, hidden);
    for (std::size_t index = 0; index < kInputs; ++index) {
        for (std::size_t unit = 0; unit < kHidden; ++unit) {
            hidden[unit] += input[index] * weights_[index * kHidden + unit];
        }
    }
    std::copy_n(&weights_[kOutBias], kClasses, scores);
    for (std::size_t unit = 0; unit < kHidden; ++unit) {
        hidden[unit] = std::max(hidden[unit], 0.0F);
        for (std::size_t each = 0; each < kClasses; ++each) {
            scores[each] += hidden[unit] * weights_[kOut + unit * kClasses + each];
        }
    }
}

// Of the mean of cross entropies.
void Learner::backward(const Samples& samples) {
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    std::array<float, kHidden> hidden{};
    std::array<float, kClasses> off{};
    for (std::size_t sample = 0; sample < samples.classes.size(); ++sample) {
        const float* const input = &samples.inputs[sample * kInputs];
        forward(input, hidden.data(), off.data());
        const float largest = *std::max_element(off.begin(), off.end());
        float sum = 0.0F;
        for (float& each : off) {
            each = std::exp(each - largest);
            sum += each;
        }
        for (std::size_t each = 0; each < kClasses; ++each) {
            const bool is = static_cast<int>(each) == samples.classes[sample];
            off[each] = (off[each] / sum - (is ? 1.0F : 0.0F)) / kBatch;
            gradient_[kOutBias + each] += off[each];
        }
        for (std::size_t unit = 0; unit < kHidden; ++unit) {
            float back = 0.0F;
            for (std::size_t each = 0; each < kClasses; ++each) {
                const std::size_t place = kOut + unit * kClasses + each;
                gradient_[place] += hidden[unit] * off[each];
                back += off[each] * weights_[place];
            }
            hidden[unit] = hidden[unit] > 0 ? back : 0.0F;
            gradient_[kBias + unit] += hidden[unit];
        }
        for (std::size_t index = 0; index < kInputs; ++index) {
            for (std::size_t unit = 0; unit < kHidden; ++unit) {
                gradient_[index * kHidden + unit] += input[index] * hidden[unit];
            }
        }
    }
}

const float* Learner::gradients() {
    backward(draw(random_, kBatch));
    for (float& each : gradient_) {
        each = std::clamp(std::round(each * kWhole), -kMost, kMost);
    }
    all_ = all_of(gradient_);
    return all_.data();
}

void Learner::learn(const float* sum) {
    const float scale = 1.0F / kWhole / static_cast<float>(context_->size);
    for (std::size_t index = 0; index < kLearned; ++index) {
        momentum_[index] = kMomentum * momentum_[index] + scale * sum[index];
        weights_[index] -= kRate * momentum_[index];
    }
}

void Learner::resync() {
    for (std::vector<float>* each : {&weights_, &momentum_}) {
        gloo::BroadcastOptions options(context_);
        options.setOutput(each->data(), each->size());
        options.setRoot(0);
        gloo::broadcast(options);
    }
}

double Learner::accuracy() const {
    std::array<float, kHidden> hidden{};
    std::array<float, kClasses> scores{};
    std::size_t right = 0;
    for (std::size_t test = 0; test < kTests; ++test) {
        forward(&tests_.inputs[test * kInputs], hidden.data(), scores.data());
        const auto* const most = std::max_element(scores.begin(), scores.end());
        right += most - scores.begin() == tests_.classes[test] ? 1 : 0;
    }
    return static_cast<double>(right) / kTests;
}

double Learner::drift() {
    const std::vector<float> all = all_of(weights_);
    const auto ranks = static_cast<std::size_t>(context_->size);
    double way = 0.0;
    std::vector<double> apart(ranks);
    for (std::size_t index = 0; index < kLearned; ++index) {
        double mean = 0.0;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            mean += double{all[rank * kLearned + index]} / static_cast<double>(ranks);
        }
        way += (mean - first_[index]) * (mean - first_[index]);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const double off = all[rank * kLearned + index] - mean;
            apart[rank] += off * off;
        }
    }
    return std::sqrt(*std::max_element(apart.begin(), apart.end()) / std::max(way, 1e-30));
}

std::vector<float> Learner::all_of(std::vector<float>& own) {
    std::vector<float> all(all_.size());
    gloo::AllgatherOptions options(context_);
    options.setInput(own.data(), own.size());
    options.setOutput(all.data(), all.size());
    gloo::allgather(options);
    return all;
}

} // namespace allreduce_lab
