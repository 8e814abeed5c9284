#include "common/verbs/port.hpp"

#include "common/arguments.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <string_view>
#include <sys/resource.h>
#include <vector>

namespace bench::verbs {

namespace {

using Context = Owned<ibv_context, ibv_close_device>;
using DeviceList = Owned<ibv_device*, ibv_free_device_list>;

// The devices and their number; none is no error of libibverbs.
struct Devices {
    DeviceList list;
    std::vector<ibv_device*> all;
};

Devices list_devices() {
    int count = 0;
    Devices devices{DeviceList(ibv_get_device_list(&count)), {}};
    if (devices.list != nullptr) {
        devices.all.assign(devices.list.get(), devices.list.get() + count);
    }
    if (devices.all.empty()) {
        throw UsageError("this machine has no RDMA device that libibverbs can use: see ibv_devices "
                         "and the permissions of /dev/infiniband/uverbs*");
    }
    return devices;
}

std::string names_of(const std::vector<ibv_device*>& devices) {
    std::string names;
    for (ibv_device* const device : devices) {
        names += (names.empty() ? "" : ", ") + std::string(ibv_get_device_name(device));
    }
    return names;
}

Context open_device(ibv_device* device) {
    Context context(ibv_open_device(device));
    if (context == nullptr) {
        throw UsageError(with_errno("the RDMA device " + std::string(ibv_get_device_name(device)) +
                                        " cannot be opened",
                                    errno));
    }
    return context;
}

bool is_active(ibv_context* context, std::uint8_t port) {
    ibv_port_attr attributes{};
    return ibv_query_port(context, port, &attributes) == 0 && attributes.state == IBV_PORT_ACTIVE;
}

// Where no device is named, one whose port is down is passed over.
Context open_any(const Devices& devices, std::uint8_t port, unsigned which) {
    unsigned active = 0;
    for (ibv_device* const device : devices.all) {
        Context context(ibv_open_device(device));
        if (context != nullptr && is_active(context.get(), port) && active++ == which) {
            return context;
        }
    }
    throw UsageError((active == 0 ? "no RDMA device of this machine has an active port "
                                  : "this machine has " + std::to_string(active) + " of the " +
                                        std::to_string(which + 1) +
                                        " RDMA devices that are needed with an active port ") +
                     std::to_string(port) + "; found " + names_of(devices.all) +
                     ": see ibv_devinfo, or name them with --dev, one of them as often as needed");
}

Context open_named(const Devices& devices, const std::string& name) {
    for (ibv_device* const device : devices.all) {
        if (name == ibv_get_device_name(device)) {
            return open_device(device);
        }
    }
    throw UsageError("option --dev: unknown device \"" + name + "\"; this machine has " +
                     names_of(devices.all));
}

std::string memory_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return {};
    }
    return "; this process may lock " + std::to_string(limit.rlim_cur) +
           " bytes of memory: raise it with `ulimit -l unlimited`, for all users in "
           "/etc/security/limits.conf (memlock), for Slurm's jobs with LimitMEMLOCK=infinity of "
           "slurmd's service";
}

constexpr std::array<std::uint8_t, 12> kMappedIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

} // namespace

std::string with_errno(const std::string& what, int error) {
    return what + ": " + std::strerror(error); // NOLINT(concurrency-mt-unsafe): one thread
}

unsigned mtu_bytes(ibv_mtu mtu) {
    return 128U << static_cast<unsigned>(mtu);
}

ibv_mtu mtu_of_bytes(unsigned bytes) {
    for (const ibv_mtu mtu : kMtus) {
        if (mtu_bytes(mtu) == bytes) {
            return mtu;
        }
    }
    throw UsageError("option --mtu: " + std::to_string(bytes) +
                     " is none of RDMA's MTUs 256, 512, 1024, 2048, 4096");
}

GidKind gid_kind(const ibv_gid_entry& entry) {
    const auto& raw = entry.gid.raw;
    if (std::all_of(std::begin(raw), std::end(raw), [](std::uint8_t byte) { return byte == 0; })) {
        return GidKind::Empty;
    }
    if (entry.gid_type != IBV_GID_TYPE_ROCE_V2) {
        return GidKind::Other;
    }
    const bool mapped = std::equal(kMappedIpv4.begin(), kMappedIpv4.end(), std::begin(raw));
    const bool link_local = raw[0] == 0xfe && (raw[1] & 0xc0U) == 0x80;
    return mapped || !link_local ? GidKind::RoutableV2 : GidKind::LinkLocalV2;
}

Port::Port(const PortOptions& options)
    : number_(static_cast<std::uint8_t>(options.port)),
      service_level_(static_cast<std::uint8_t>(options.service_level)),
      traffic_class_(static_cast<std::uint8_t>(options.traffic_class)) {
    const Devices devices = list_devices();
    context_ = options.device.empty() ? open_any(devices, number_, options.which)
                                      : open_named(devices, options.device);
    read_port();
    choose_gid(options.gid_index);
    choose_mtu(options.mtu);
}

std::string Port::name() const {
    return std::string(ibv_get_device_name(context_->device)) + ":" + std::to_string(number_);
}

ProtectionDomain Port::protection_domain() const {
    ProtectionDomain domain(ibv_alloc_pd(context_.get()));
    if (domain == nullptr) {
        throw std::runtime_error(with_errno("ibv_alloc_pd on " + name(), errno));
    }
    return domain;
}

std::string Port::pending_event() const {
    pollfd descriptor{context_->async_fd, POLLIN, 0};
    ibv_async_event event{};
    if (poll(&descriptor, 1, 0) != 1 || ibv_get_async_event(context_.get(), &event) != 0) {
        return {};
    }
    std::string words = ibv_event_type_str(event.event_type);
    ibv_ack_async_event(&event);
    return words;
}

void Port::read_port() {
    if (const int error = ibv_query_device(context_.get(), &device_); error != 0) {
        throw UsageError(with_errno("the device of " + name() + " does not answer", error));
    }
    if (number_ < 1 || number_ > device_.phys_port_cnt) {
        throw UsageError("option --port: " + name() + " is not there; the device has " +
                         std::to_string(device_.phys_port_cnt) + " port(s), counted from 1");
    }
    if (const int error = ibv_query_port(context_.get(), number_, &attributes_); error != 0) {
        throw UsageError(with_errno("the port " + name() + " does not answer", error));
    }
    if (attributes_.state != IBV_PORT_ACTIVE) {
        throw UsageError("the port " + name() + " is " + ibv_port_state_str(attributes_.state) +
                         ", not active: see its cable and `rdma link`");
    }
}

void Port::choose_gid(std::optional<unsigned> wanted) {
    const auto length = static_cast<unsigned>(std::max(attributes_.gid_tbl_len, 0));
    if (wanted && *wanted >= length) {
        throw UsageError("option --gid-index: " + std::to_string(*wanted) + " is out of range; " +
                         name() + " has indexes 0 to " + std::to_string(length - 1));
    }
    if (!wanted && !is_ethernet()) {
        return;
    }
    GidKind best = GidKind::Empty;
    for (unsigned index = wanted.value_or(0); index < (wanted ? *wanted + 1 : length); ++index) {
        ibv_gid_entry entry{};
        if (ibv_query_gid_ex(context_.get(), number_, index, &entry, 0) == 0 &&
            gid_kind(entry) < best) {
            best = gid_kind(entry);
            gid_ = entry;
        }
    }
    if (!gid_) {
        throw UsageError((wanted ? "option --gid-index: " + std::to_string(*wanted) + " of " +
                                       name() + " is empty"
                                 : "the port " + name() + " has no GID") +
                         ": see `ibv_devinfo -v`, and the addresses of its network interface");
    }
}

void Port::choose_mtu(unsigned wanted) {
    mtu_ = wanted == 0 ? attributes_.active_mtu : mtu_of_bytes(wanted);
    if (mtu_ > attributes_.active_mtu) {
        throw UsageError("option --mtu: " + std::to_string(wanted) + " is more than " + name() +
                         " can carry now, " + std::to_string(mtu_bytes(attributes_.active_mtu)) +
                         " bytes: raise the MTU of the network, or lower the option");
    }
}

MemoryRegion register_memory(const ProtectionDomain& domain, void* memory, std::size_t bytes,
                             int access) {
    MemoryRegion region(ibv_reg_mr(domain.get(), memory, bytes, access));
    if (region == nullptr) {
        const int error = errno;
        throw UsageError(
            with_errno("the device refused to register " + std::to_string(bytes) + " bytes",
                       error) +
            (error == ENOMEM || error == EAGAIN ? memory_limit() : std::string()));
    }
    return region;
}

} // namespace bench::verbs
