// An RDMA device, one of its ports, and the address (GID) that packets leave it with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <infiniband/verbs.h>
#include <memory>
#include <optional>
#include <string>

namespace bench::verbs {

/// Frees what libibverbs gave.
template <auto Free>
struct Freed {
    template <class Handle>
    void operator()(Handle* handle) const {
        (void)Free(handle);
    }
};
template <class Handle, auto Free>
using Owned = std::unique_ptr<Handle, Freed<Free>>;

using ProtectionDomain = Owned<ibv_pd, ibv_dealloc_pd>;
using MemoryRegion = Owned<ibv_mr, ibv_dereg_mr>;
using AddressHandle = Owned<ibv_ah, ibv_destroy_ah>;

/// What the user may say about the port; the names of the options are those of every program.
struct PortOptions {
    std::string device;                ///< --dev; empty: one with the port active
    unsigned which = 0;                ///< which one then, in the order of ibv_devices
    unsigned port = 1;                 ///< --port
    std::optional<unsigned> gid_index; ///< --gid-index; none: see choose_gid
    unsigned mtu = 0;                  ///< --mtu in bytes; 0: the port's active MTU
    unsigned service_level = 0;        ///< --sl, 0 to 15
    unsigned traffic_class = 0;        ///< --tclass, 0 to 255
};

constexpr std::array<ibv_mtu, 5> kMtus = {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048,
                                          IBV_MTU_4096};

/// Bytes of payload of a packet, 256 to 4096.
unsigned mtu_bytes(ibv_mtu mtu);

/// Throws UsageError if `bytes` is no MTU of RDMA: 256, 512, 1024, 2048 or 4096.
ibv_mtu mtu_of_bytes(unsigned bytes);

/// What a GID index can hold, in the order in which they are preferred when none is asked for: an
/// address that routers know before one of the link alone, RoCE v2 before v1.
enum class GidKind { RoutableV2, LinkLocalV2, Other, Empty };
GidKind gid_kind(const ibv_gid_entry& entry);

/// The open port. Everything made from it must be gone before it is.
class Port {
  public:
    /// Throws UsageError, saying what there is, for an unknown device, a port or GID index that is
    /// not there, a port that is not active, or an MTU that the port does not have.
    explicit Port(const PortOptions& options);

    [[nodiscard]] ibv_context* context() const { return context_.get(); }
    [[nodiscard]] std::string name() const; ///< such as "mlx5_0:1"
    [[nodiscard]] std::uint8_t number() const { return number_; }
    [[nodiscard]] const ibv_port_attr& attributes() const { return attributes_; }
    [[nodiscard]] const ibv_device_attr& device() const { return device_; }
    [[nodiscard]] bool is_ethernet() const {
        return attributes_.link_layer == IBV_LINK_LAYER_ETHERNET;
    }
    [[nodiscard]] ibv_mtu mtu() const { return mtu_; }
    [[nodiscard]] std::uint8_t service_level() const { return service_level_; }
    /// Of the packets' GRH, on RoCE v2 the byte of the IP header with DSCP and ECN.
    [[nodiscard]] std::uint8_t traffic_class() const { return traffic_class_; }
    /// The GID in use; none on InfiniBand where no index was asked for, as a LID is enough there.
    [[nodiscard]] const std::optional<ibv_gid_entry>& gid() const { return gid_; }

    [[nodiscard]] ProtectionDomain protection_domain() const;

    /// The oldest asynchronous event that nobody asked for yet, such as "port error" or "QP fatal
    /// error"; empty where there is none. Does not wait.
    [[nodiscard]] std::string pending_event() const;

  private:
    void read_port();
    void choose_gid(std::optional<unsigned> wanted);
    void choose_mtu(unsigned wanted);

    Owned<ibv_context, ibv_close_device> context_;
    std::uint8_t number_;
    std::uint8_t service_level_;
    std::uint8_t traffic_class_;
    ibv_device_attr device_{};
    ibv_port_attr attributes_{};
    ibv_mtu mtu_ = IBV_MTU_1024;
    std::optional<ibv_gid_entry> gid_;
};

/// Memory that the device may reach; `access` are IBV_ACCESS_ flags. The memory must outlive it.
/// Throws UsageError if the device refuses, with the limit of locked memory where that is the
/// cause.
MemoryRegion register_memory(const ProtectionDomain& domain, void* memory, std::size_t bytes,
                             int access);

/// "what: reason", the reason from errno.
std::string with_errno(const std::string& what, int error);

} // namespace bench::verbs
