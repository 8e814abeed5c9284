// A small network that learns, so that what a sum lost acts on something.
#pragma once

#include "allreduce_lab/allreduce.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace allreduce_lab {

/// One rank's replica, as DistributedDataParallel has them: a network of 64, 200 and 10 units that
/// learns to name the classes of a fixed teacher, by stochastic gradient descent with momentum.
/// Gradients are rounded to whole numbers, so that sums of them can be looked at like any others.
class Learner {
  public:
    Learner(Context context, std::uint64_t seed);

    /// Makes this rank's gradient, of its next samples, and brings those of all ranks together: so
    /// many floats of each, by rank. Throws what gloo does if a peer is gone.
    const float* gradients();
    /// A step with the sum of them.
    void learn(const float* sum);
    /// Takes over what rank 0 has learned.
    void resync();
    /// Share of 2000 other samples that it names rightly.
    [[nodiscard]] double accuracy() const;
    /// How far the replica that is farthest off is from the mean of all, over how far that went.
    [[nodiscard]] double drift();

  private:
    struct Samples {
        std::vector<float> inputs;
        std::vector<int> classes;
    };
    [[nodiscard]] static Samples draw(std::mt19937_64& random, std::size_t count);
    /// Runs it forward for one sample, into the hidden units and the scores.
    void forward(const float* input, float* hidden, float* scores) const;
    void backward(const Samples& samples);
    [[nodiscard]] std::vector<float> all_of(std::vector<float>& own);

    Context context_;
    std::mt19937_64 random_;
    Samples tests_;
    std::vector<float> first_; ///< what it began with
    std::vector<float> weights_;
    std::vector<float> momentum_;
    std::vector<float> gradient_;
    std::vector<float> all_;
};

} // namespace allreduce_lab
