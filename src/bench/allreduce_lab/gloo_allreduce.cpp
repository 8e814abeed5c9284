#include "allreduce_lab/allreduce.hpp"

#include <arpa/inet.h>
#include <gloo/allreduce.h>
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

} // namespace

Context connected(Rendezvous& rendezvous, const Options& options, in_addr address) {
    gloo::transport::tcp::attr attributes;
    std::array<char, INET_ADDRSTRLEN> text{};
    attributes.hostname = inet_ntop(AF_INET, &address, text.data(), text.size());
    std::shared_ptr<gloo::transport::Device> device =
        gloo::transport::tcp::CreateDevice(attributes);
    auto context = std::make_shared<gloo::rendezvous::Context>(options.rank, options.size);
    context->setTimeout(
        std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout * 1000)));
    context->connectFullMesh(rendezvous, device);
    return context;
}

std::unique_ptr<Allreduce> gloo_allreduce(Scheme scheme, const Context& context,
                                          const std::vector<Bucket>& buckets) {
    using Algorithm = gloo::AllreduceOptions::Algorithm;
    return std::make_unique<Function>(context, buckets,
                                      scheme == Scheme::Bcube ? Algorithm::BCUBE : Algorithm::RING);
}

} // namespace allreduce_lab
