#include "allreduce_lab/transport.hpp"

#include <gloo/transport/unbound_buffer.h>

namespace allreduce_lab {

namespace {

class TcpTransport : public Transport {
  public:
    TcpTransport(Context context, std::vector<std::size_t> shards)
        : Transport(context->size, shards, *std::max_element(shards.begin(), shards.end())),
          context_(std::move(context)),
          received_(largest() * static_cast<std::size_t>(context_->size)),
          out_(context_->createUnboundBuffer(work(), received_.size() * sizeof(float))),
          in_(context_->createUnboundBuffer(received_.data(), received_.size() * sizeof(float))) {}

    StageEnd exchange(PacketKind stage, std::uint64_t bucket,
                      const std::vector<std::size_t>& places) override {
        const auto begin = std::chrono::steady_clock::now();
        const int ranks = context_->size;
        const std::uint64_t slot = 2 * bucket + static_cast<std::uint64_t>(stage);
        const std::size_t bytes = shard(bucket) * sizeof(float);
        for (int round = 1; round < ranks; ++round) {
            const int source = (context_->rank - round + ranks) % ranks;
            in_->recv(source, slot, static_cast<std::size_t>(source) * largest() * sizeof(float),
                      bytes);
        }
        // In each round every rank sends to one and receives from one.
        for (int round = 1; round < ranks; ++round) {
            const int target = (context_->rank + round) % ranks;
            out_->send(target, slot, places[static_cast<std::size_t>(target)] * sizeof(float),
                       bytes);
            out_->waitSend();
            in_->waitRecv();
        }
        StageEnd end;
        end.expected = static_cast<std::uint64_t>(ranks - 1);
        end.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return end;
    }

    [[nodiscard]] const float* from(PacketKind /*stage*/, std::size_t rank) const override {
        return received_.data() + rank * largest();
    }
    [[nodiscard]] bool has(PacketKind /*stage*/, std::size_t /*rank*/,
                           std::size_t /*piece*/) const override {
        return true;
    }
    [[nodiscard]] std::uint8_t lacks(std::size_t /*rank*/, std::size_t /*piece*/) const override {
        return 0;
    }

  private:
    Context context_;
    std::vector<float> received_;
    std::unique_ptr<gloo::transport::UnboundBuffer> out_;
    std::unique_ptr<gloo::transport::UnboundBuffer> in_;
};

} // namespace

std::unique_ptr<Transport> tcp_transport(const Context& context, std::vector<std::size_t> shards) {
    return std::make_unique<TcpTransport>(context, std::move(shards));
}

} // namespace allreduce_lab
