#include "common/verbs/queue_pair.hpp"

#include "common/arguments.hpp"
#include "common/network_order.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

namespace bench::verbs {

namespace {

constexpr std::uint32_t kMagic = 0x46425131; // "FBQ1": fabricheck, queue pair, first format
constexpr std::uint32_t k24Bits = 0xffffff;
constexpr std::uint8_t kHopLimit = 64;

ibv_qp_type verbs_type(QpType type) {
    switch (type) {
    case QpType::Uc:
        return IBV_QPT_UC;
    case QpType::Ud:
        return IBV_QPT_UD;
    case QpType::Rc:
        break;
    }
    return IBV_QPT_RC;
}

// A number that an earlier connection of the same queue pair number did not use.
std::uint32_t random_psn() {
    std::random_device source;
    return static_cast<std::uint32_t>(source()) & k24Bits;
}

} // namespace

AddressBytes encode(const Address& address) {
    AddressBytes bytes{};
    std::uint8_t* at = put(bytes.data(), kMagic);
    at = put(at, address.qp_number << 8U | address.reads);
    at = put(at, address.psn << 8U | (address.has_gid ? 1U : 0U));
    at = put(at, static_cast<std::uint32_t>(address.lid << 16U | address.mtu));
    std::copy(std::begin(address.gid.raw), std::end(address.gid.raw), at);
    return bytes;
}

Address decode(const AddressBytes& bytes) {
    std::uint32_t magic = 0;
    std::uint32_t number = 0;
    std::uint32_t psn = 0;
    std::uint32_t lid = 0;
    const std::uint8_t* at = take(bytes.data(), magic);
    at = take(at, number);
    at = take(at, psn);
    at = take(at, lid);
    Address address;
    address.qp_number = number >> 8U;
    address.reads = static_cast<std::uint8_t>(number);
    address.psn = psn >> 8U;
    address.has_gid = (psn & 1U) != 0;
    address.lid = static_cast<std::uint16_t>(lid >> 16U);
    address.mtu = static_cast<std::uint16_t>(lid);
    std::copy(at, at + sizeof address.gid.raw, std::begin(address.gid.raw));
    const bool has_mtu = std::any_of(kMtus.begin(), kMtus.end(), [&address](ibv_mtu mtu) {
        return mtu_bytes(mtu) == address.mtu;
    });
    if (magic != kMagic || !has_mtu || encode(address) != bytes) {
        throw std::runtime_error("the other side sent no address of a queue pair: it is another "
                                 "program, or another version of this one");
    }
    return address;
}

QueuePair::QueuePair(const Port& port, const ProtectionDomain& domain, QpType type,
                     const CompletionQueue& send, const CompletionQueue& receive,
                     const QpRoom& room, int access)
    : port_(port), domain_(domain), type_(type), psn_(random_psn()) {
    const auto most = static_cast<unsigned>(port.device().max_qp_wr);
    if (std::max(room.send, room.receive) > most) {
        throw UsageError("a queue of " + std::to_string(std::max(room.send, room.receive)) +
                         " requests is needed, but " + port.name() + " has at most " +
                         std::to_string(most) + ": ask for fewer messages in flight");
    }
    ibv_qp_init_attr wanted{};
    wanted.send_cq = send.handle();
    wanted.recv_cq = receive.handle();
    wanted.qp_type = verbs_type(type);
    wanted.cap.max_send_wr = room.send;
    wanted.cap.max_recv_wr = room.receive;
    wanted.cap.max_send_sge = 1;
    wanted.cap.max_recv_sge = 1;
    wanted.cap.max_inline_data = room.inlined;
    pair_.reset(ibv_create_qp(domain.get(), &wanted));
    if (pair_ == nullptr) {
        throw UsageError(with_errno("the device " + port.name() + " refused a queue pair (" +
                                        std::string(word_of(kQpTypes, type)) + ", " +
                                        std::to_string(room.send) + " sends, " +
                                        std::to_string(room.receive) + " receives, " +
                                        std::to_string(room.inlined) + " bytes inline)",
                                    errno));
    }
    inlined_ = wanted.cap.max_inline_data;
    to_init(access);
}

Address QueuePair::address() const {
    Address address;
    address.qp_number = pair_->qp_num;
    address.psn = psn_;
    address.lid = port_.attributes().lid;
    address.mtu = static_cast<std::uint16_t>(mtu_bytes(port_.mtu()));
    address.reads = static_cast<std::uint8_t>(std::clamp(port_.device().max_qp_rd_atom, 0, 255));
    if (port_.gid()) {
        address.has_gid = true;
        address.gid = port_.gid()->gid;
    }
    return address;
}

void QueuePair::connect(const Address& peer, const Connection& connection) {
    if (peer.has_gid != port_.gid().has_value()) {
        throw UsageError("one side of the connection uses a GID and the other does not: give "
                         "--gid-index on both, or on neither");
    }
    const int both = std::min<int>(port_.device().max_qp_init_rd_atom, peer.reads);
    reads_out_ = static_cast<unsigned>(std::clamp(both, 0, 255));
    mtu_ = std::min(port_.mtu(), mtu_of_bytes(peer.mtu));
    to_receive(peer, connection);
    to_send(connection);
}

AddressHandle QueuePair::handle_to(const Address& peer) const {
    ibv_ah_attr route_attributes = route(peer);
    AddressHandle handle(ibv_create_ah(domain_.get(), &route_attributes));
    if (handle == nullptr) {
        throw std::runtime_error(
            with_errno("ibv_create_ah on " + port_.name() + ", no route to the peer", errno));
    }
    return handle;
}

void QueuePair::to_init(int access) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.pkey_index = 0;
    attributes.port_num = port_.number();
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (type_ == QpType::Ud) {
        attributes.qkey = kQkey;
        mask |= IBV_QP_QKEY;
    } else {
        attributes.qp_access_flags = static_cast<unsigned>(access);
        mask |= IBV_QP_ACCESS_FLAGS;
    }
    modify(attributes, mask, "INIT");
}

void QueuePair::to_receive(const Address& peer, const Connection& connection) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    int mask = IBV_QP_STATE;
    if (type_ != QpType::Ud) {
        attributes.path_mtu = mtu_;
        attributes.dest_qp_num = peer.qp_number;
        attributes.rq_psn = peer.psn;
        attributes.ah_attr = route(peer);
        mask |= IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_AV;
    }
    if (type_ == QpType::Rc) {
        attributes.max_dest_rd_atomic =
            static_cast<std::uint8_t>(std::clamp(port_.device().max_qp_rd_atom, 0, 255));
        attributes.min_rnr_timer = connection.rnr_timer;
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    modify(attributes, mask, "RTR");
}

void QueuePair::to_send(const Connection& connection) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = psn_;
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (type_ == QpType::Rc) {
        attributes.timeout = connection.timeout;
        attributes.retry_cnt = connection.retries;
        attributes.rnr_retry = connection.rnr_retries;
        attributes.max_rd_atomic = static_cast<std::uint8_t>(reads_out_);
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    modify(attributes, mask, "RTS");
}

void QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* state) const {
    if (const int error = ibv_modify_qp(pair_.get(), &attributes, mask); error != 0) {
        throw std::runtime_error(with_errno(
            "the queue pair on " + port_.name() + " did not reach the state " + state, error));
    }
}

ibv_ah_attr QueuePair::route(const Address& peer) const {
    ibv_ah_attr attributes{};
    attributes.port_num = port_.number();
    attributes.dlid = peer.lid;
    attributes.sl = port_.service_level();
    if (port_.gid()) {
        attributes.is_global = 1;
        attributes.grh.dgid = peer.gid;
        attributes.grh.sgid_index = static_cast<std::uint8_t>(port_.gid()->gid_index);
        attributes.grh.hop_limit = kHopLimit;
        attributes.grh.traffic_class = port_.traffic_class();
    }
    return attributes;
}

} // namespace bench::verbs
