#include "allreduce_lab/allreduce.hpp"

#include <arpa/inet.h>
#include <functional>
#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/tcp/device.h>

namespace allreduce_lab {

namespace {

// gloo::allreduce, which is told everything at each call.
class Function : public Allreduce {
  public:
    Function(Context context, std::vector<Bucket> buckets,
             gloo::AllreduceOptions::Algorithm algorithm)
        : context_(std::move(context)), buckets_(std::move(buckets)), algorithm_(algorithm) {}

    Outcome run(std::size_t bucket) override {
        gloo::AllreduceOptions options(context_);
        options.setAlgorithm(algorithm_);
        options.setOutput(buckets_[bucket].data, buckets_[bucket].elements);
        options.setReduceFunction(sum_);
        gloo::allreduce(options);
        return {};
    }

  private:
    Context context_;
    std::vector<Bucket> buckets_;
    gloo::AllreduceOptions::Algorithm algorithm_;
    gloo::AllreduceOptions::Func sum_ =
        static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>);
};

// The older algorithms, each made for one vector.
class Legacy : public Allreduce {
  public:
    template <class Make>
    Legacy(const std::vector<Bucket>& buckets, Make make) {
        for (const Bucket& bucket : buckets) {
            algorithms_.push_back(
                make(std::vector<float*>{bucket.data}, static_cast<int>(bucket.elements)));
        }
    }

    Outcome run(std::size_t bucket) override {
        algorithms_[bucket]->run();
        return {};
    }

  private:
    std::vector<std::unique_ptr<gloo::Algorithm>> algorithms_;
};

template <class Algorithm>
std::unique_ptr<Allreduce> legacy(const Context& context, const std::vector<Bucket>& buckets) {
    return std::make_unique<Legacy>(buckets, [&](const std::vector<float*>& data, int count) {
        return std::make_unique<Algorithm>(context, data, count);
    });
}

} // namespace

Context connected(Rendezvous& rendezvous, const Options& options, in_addr address) {
    gloo::transport::tcp::attr attributes;
    std::array<char, INET_ADDRSTRLEN> text{};
    attributes.hostname = inet_ntop(AF_INET, &address, text.data(), text.size());
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice(attributes);
    auto context =
        std::make_shared<gloo::rendezvous::Context>(options.rank, options.size, options.base);
    context->setTimeout(
        std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout * 1000)));
    context->connectFullMesh(rendezvous, device);
    return context;
}

std::unique_ptr<Allreduce> gloo_allreduce(Scheme scheme, const Context& context,
                                          const std::vector<Bucket>& buckets) {
    using gloo::AllreduceOptions;
    switch (scheme) {
    case Scheme::Bcube:
    case Scheme::NewBcube:
        return std::make_unique<Function>(context, buckets, AllreduceOptions::Algorithm::BCUBE);
    case Scheme::LegacyRing:
        return legacy<gloo::AllreduceRing<float>>(context, buckets);
    case Scheme::LegacyRingChunked:
        return legacy<gloo::AllreduceRingChunked<float>>(context, buckets);
#ifndef __clang_analyzer__ // which fears a division by zero in gloo's header
    case Scheme::LegacyHalvingDoubling:
        return legacy<gloo::AllreduceHalvingDoubling<float>>(context, buckets);
#endif
    case Scheme::LegacyBcube:
        return legacy<gloo::AllreduceBcube<float>>(context, buckets);
    default:
        return std::make_unique<Function>(context, buckets, AllreduceOptions::Algorithm::RING);
    }
}

} // namespace allreduce_lab
