// Messages over verbs: SEND with immediate, receive requests posted a block at a time.
#include "common/arguments.hpp"
#include "common/buffer.hpp"
#include "common/verbs/completion.hpp"
#include "common/verbs/port.hpp"
#include "common/verbs/queue_pair.hpp"
#include "rdma_stream/backends.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <stdexcept>

namespace rdma_stream {

namespace {

namespace verbs = bench::verbs;

constexpr int kCompletionsAtOnce = 64;

verbs::PortOptions port_options(const Options& options) {
    return {options.device,       0,           options.port,
            options.gid_index,    options.mtu, options.service_level,
            options.traffic_class};
}

void check_fit(const Options& options, unsigned mtu, const std::string& whose) {
    if (options.qp_type == QpType::Ud && options.message_size > mtu) {
        throw bench::UsageError("option --msg-size: a message of ud must fit into the MTU of " +
                                whose + ", " + std::to_string(mtu) + " bytes, but has " +
                                std::to_string(options.message_size));
    }
}

void check_message_size(const Options& options, const verbs::Port& port) {
    check_fit(options, verbs::mtu_bytes(port.mtu()), port.name());
    if (options.message_size > port.attributes().max_msg_sz) {
        throw bench::UsageError("option --msg-size: " + port.name() + " sends at most " +
                                std::to_string(port.attributes().max_msg_sz) + " bytes at once");
    }
}

Blob to_blob(const verbs::Address& address) {
    const verbs::AddressBytes bytes = verbs::encode(address);
    Blob blob{};
    std::copy(bytes.begin(), bytes.end(), blob.begin());
    return blob;
}

verbs::Address from_blob(const Blob& blob) {
    verbs::AddressBytes bytes{};
    std::copy_n(blob.begin(), bytes.size(), bytes.begin());
    return verbs::decode(bytes);
}

// Sleeps on a completion queue in the two steps that lose no completion: the first call asks for an
// event, and the caller looks once more; the second one sleeps.
class Sleeper {
  public:
    explicit Sleeper(verbs::CompletionQueue& queue) : queue_(queue) {}
    void found() { armed_ = false; }
    void wait(std::chrono::microseconds longest) {
        if (queue_.waiting() == verbs::Waiting::Polling) {
            return;
        }
        if (armed_) {
            queue_.sleep(longest);
        } else {
            queue_.arm();
        }
        armed_ = !armed_;
    }

  private:
    verbs::CompletionQueue& queue_;
    bool armed_ = false;
};

class VerbsSender : public Sender {
  public:
    explicit VerbsSender(const Options& options)
        : options_(options), port_(port_options(options)), domain_(port_.protection_domain()),
          buffer_(std::size_t{options.slots()} * options.message_size, 0),
          region_(verbs::register_memory(domain_, buffer_.data(),
                                         std::size_t{options.slots()} * options.message_size,
                                         IBV_ACCESS_LOCAL_WRITE)),
          queue_(port_, options.slots(), options.waiting),
          pair_(port_, domain_, options.qp_type, queue_, queue_, {options.slots(), 1, 0}, 0),
          requests_(options.messages_per_block), pieces_(options.messages_per_block) {
        check_message_size(options, port_);
    }

    [[nodiscard]] Blob address() const override { return to_blob(pair_.address()); }
    [[nodiscard]] unsigned mtu() const override { return pair_.mtu(); }

    void connect(const Blob& peer) override {
        const verbs::Address address = from_blob(peer);
        pair_.connect(address);
        check_fit(options_, pair_.mtu(), "the receiver's port");
        if (options_.qp_type == QpType::Ud) {
            handle_ = pair_.handle_to(address);
            peer_number_ = address.qp_number;
        }
    }

    unsigned char* content(std::uint64_t turn) override {
        return reinterpret_cast<unsigned char*>(buffer_.data()) +
               turn % options_.slots() * options_.message_size;
    }

    // Only the last request of a chain tells its completion, and that it stands for all of them.
    void post(std::uint64_t turn, const std::uint32_t* numbers, std::uint32_t count) override {
        for (std::uint32_t index = 0; index < count; ++index) {
            ibv_sge& piece = pieces_[index];
            piece.addr = reinterpret_cast<std::uint64_t>(content(turn + index));
            piece.length = options_.message_size;
            piece.lkey = region_->lkey;
            ibv_send_wr& request = requests_[index];
            request = {};
            request.wr_id = count;
            request.next = index + 1 < count ? &requests_[index + 1] : nullptr;
            request.sg_list = &piece;
            request.num_sge = 1;
            request.opcode = IBV_WR_SEND_WITH_IMM;
            request.send_flags = index + 1 < count ? 0U : unsigned{IBV_SEND_SIGNALED};
            request.imm_data = htonl(numbers[index]);
            if (handle_ != nullptr) {
                request.wr.ud.ah = handle_.get();
                request.wr.ud.remote_qpn = peer_number_;
                request.wr.ud.remote_qkey = verbs::QueuePair::kQkey;
            }
        }
        ibv_send_wr* refused = nullptr;
        if (const int error = ibv_post_send(pair_.handle(), requests_.data(), &refused);
            error != 0) {
            throw std::runtime_error(verbs::with_errno("ibv_post_send on " + port_.name(), error));
        }
    }

    std::uint32_t reap() override {
        const int count = queue_.poll(completions_.data(), kCompletionsAtOnce);
        std::uint32_t freed = 0;
        for (int index = 0; index < count; ++index) {
            const ibv_wc& completion = completions_[static_cast<std::size_t>(index)];
            if (completion.status != IBV_WC_SUCCESS) {
                throw std::runtime_error(verbs::describe(completion, "a send failed"));
            }
            freed += static_cast<std::uint32_t>(completion.wr_id);
        }
        if (freed != 0) {
            sleeper_.found();
        }
        return freed;
    }

    void wait(std::chrono::microseconds longest) override { sleeper_.wait(longest); }

  private:
    const Options& options_;
    verbs::Port port_;
    verbs::ProtectionDomain domain_;
    bench::PageBuffer buffer_;
    verbs::MemoryRegion region_;
    verbs::CompletionQueue queue_;
    verbs::QueuePair pair_;
    verbs::AddressHandle handle_;
    std::uint32_t peer_number_ = 0;
    std::vector<ibv_send_wr> requests_;
    std::vector<ibv_sge> pieces_;
    std::array<ibv_wc, kCompletionsAtOnce> completions_{};
    Sleeper sleeper_{queue_};
};

// The queue pair of one stream. Requests are used up in their order, so the slots of a block are
// free all at once when its last one is.
struct ReceiveQueue {
    ReceiveQueue(const Options& options, const verbs::Port& port,
                 const verbs::ProtectionDomain& domain, const verbs::CompletionQueue& queue)
        : pair(port, domain, options.qp_type, queue, queue, {1, options.slots(), 0}, 0) {}
    verbs::QueuePair pair;
    std::uint32_t released = 0; ///< slots of the current block
};

class VerbsReceiver : public Receiver {
  public:
    VerbsReceiver(const Options& options, std::uint32_t streams)
        : options_(options), stride_(options.message_size + header_bytes(options)),
          bytes_(std::size_t{streams} * options.slots() * stride_), port_(port_options(options)),
          domain_(port_.protection_domain()), buffer_(bytes_, 0),
          region_(verbs::register_memory(domain_, buffer_.data(), bytes_, IBV_ACCESS_LOCAL_WRITE)),
          queue_(port_, streams * options.slots(), options.waiting),
          requests_(options.messages_per_block), pieces_(options.messages_per_block) {
        check_message_size(options, port_);
        for (std::uint32_t stream = 0; stream < streams; ++stream) {
            streams_.push_back(std::make_unique<ReceiveQueue>(options, port_, domain_, queue_));
            for (std::uint32_t block = 0; block < options.blocks; ++block) {
                post_block(stream, block);
            }
        }
    }

    [[nodiscard]] Blob address(std::uint32_t stream) const override {
        return to_blob(streams_[stream]->pair.address());
    }

    void connect(std::uint32_t stream, const Blob& peer) override {
        streams_[stream]->pair.connect(from_blob(peer));
    }

    std::uint32_t take(Arrival* arrivals, std::uint32_t room) override {
        const int most = static_cast<int>(std::min<std::size_t>(room, completions_.size()));
        const int count = queue_.poll(completions_.data(), most);
        for (int index = 0; index < count; ++index) {
            arrivals[index] = arrival(completions_[static_cast<std::size_t>(index)]);
        }
        if (count != 0) {
            sleeper_.found();
        }
        return static_cast<std::uint32_t>(count);
    }

    void release(const Arrival* arrivals, std::uint32_t count) override {
        for (std::uint32_t index = 0; index < count; ++index) {
            const Arrival& arrival = arrivals[index];
            ReceiveQueue& stream = *streams_[arrival.stream];
            if (++stream.released == options_.messages_per_block) {
                stream.released = 0;
                post_block(arrival.stream, arrival.slot / options_.messages_per_block);
            }
        }
    }

    void wait(std::chrono::microseconds longest) override { sleeper_.wait(longest); }

  private:
    static std::uint32_t header_bytes(const Options& options) {
        return options.qp_type == QpType::Ud ? verbs::kUdHeader : 0;
    }

    [[nodiscard]] unsigned char* slot(std::uint32_t stream, std::uint32_t index) const {
        const std::size_t number = std::size_t{stream} * options_.slots() + index;
        return reinterpret_cast<unsigned char*>(buffer_.data()) + number * stride_;
    }

    [[nodiscard]] Arrival arrival(const ibv_wc& completion) const {
        if (completion.status != IBV_WC_SUCCESS) {
            throw std::runtime_error(verbs::describe(completion, "a receive failed"));
        }
        const auto stream = static_cast<std::uint32_t>(completion.wr_id >> 32U);
        const auto index = static_cast<std::uint32_t>(completion.wr_id);
        const std::uint32_t bytes = completion.byte_len;
        if ((completion.wc_flags & IBV_WC_WITH_IMM) == 0 || bytes != stride_) {
            return {stream, index, kForeign, nullptr};
        }
        return {stream, index, ntohl(completion.imm_data),
                slot(stream, index) + header_bytes(options_)};
    }

    void post_block(std::uint32_t stream, std::uint32_t block) {
        const std::uint32_t count = options_.messages_per_block;
        for (std::uint32_t index = 0; index < count; ++index) {
            const std::uint32_t number = block * count + index;
            ibv_sge& piece = pieces_[index];
            piece.addr = reinterpret_cast<std::uint64_t>(slot(stream, number));
            piece.length = stride_;
            piece.lkey = region_->lkey;
            ibv_recv_wr& request = requests_[index];
            request.wr_id = std::uint64_t{stream} << 32U | number;
            request.next = index + 1 < count ? &requests_[index + 1] : nullptr;
            request.sg_list = &piece;
            request.num_sge = 1;
        }
        ibv_recv_wr* refused = nullptr;
        if (const int error =
                ibv_post_recv(streams_[stream]->pair.handle(), requests_.data(), &refused);
            error != 0) {
            throw std::runtime_error(verbs::with_errno("ibv_post_recv on " + port_.name(), error));
        }
    }

    const Options& options_;
    std::uint32_t stride_; ///< bytes of a slot
    std::size_t bytes_;
    verbs::Port port_;
    verbs::ProtectionDomain domain_;
    bench::PageBuffer buffer_;
    verbs::MemoryRegion region_;
    verbs::CompletionQueue queue_;
    std::vector<std::unique_ptr<ReceiveQueue>> streams_;
    std::vector<ibv_recv_wr> requests_;
    std::vector<ibv_sge> pieces_;
    std::array<ibv_wc, kCompletionsAtOnce> completions_{};
    Sleeper sleeper_{queue_};
};

} // namespace

std::unique_ptr<Sender> verbs_sender(const Options& options) {
    return std::make_unique<VerbsSender>(options);
}

std::unique_ptr<Receiver> verbs_receiver(const Options& options, std::uint32_t streams) {
    return std::make_unique<VerbsReceiver>(options, streams);
}

} // namespace rdma_stream
