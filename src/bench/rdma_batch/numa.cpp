#include "rdma_batch/numa.hpp"

#include "common/arguments.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdma_batch {

namespace {

constexpr std::size_t kMostNodes = 1024;
constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

unsigned node_of(const std::string& device) {
    const std::string text = first_line("/sys/class/infiniband/" + device + "/device/numa_node");
    if (text.empty() || text.front() == '-') {
        throw bench::UsageError("option --numa device: the device " + device +
                                " does not tell its memory node: give the node's number");
    }
    return static_cast<unsigned>(bench::parse_count("--numa device", text, 0, kMostNodes - 1));
}

unsigned next_number(const char*& at, const char* end) {
    unsigned value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value >= CPU_SETSIZE) {
        throw std::runtime_error("expected a list of CPUs such as 0-3,8");
    }
    at = stop;
    return value;
}

} // namespace

std::vector<unsigned> parse_cpu_list(const std::string& text) {
    std::vector<unsigned> cpus;
    const char* at = text.data();
    const char* const end = at + text.size();
    do {
        const unsigned first = next_number(at, end);
        const unsigned last = at != end && *at == '-' ? next_number(++at, end) : first;
        for (unsigned cpu = first; cpu <= last; ++cpu) {
            cpus.push_back(cpu);
        }
    } while (at != end && *at++ == ',');
    if (at != end) {
        throw std::runtime_error("expected a list of CPUs such as 0-3,8, found \"" + text + "\"");
    }
    return cpus;
}

void bind_to(const Numa& numa, const std::function<std::string()>& device) {
    if (numa.kind == Numa::Kind::None) {
        return;
    }
    const unsigned node = numa.kind == Numa::Kind::Node ? numa.node : node_of(device());
    const std::string list =
        first_line("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    if (list.empty()) {
        throw bench::UsageError("option --numa: this machine has no memory node " +
                                std::to_string(node) + " with CPUs; lscpu lists those it has");
    }
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (const unsigned cpu : parse_cpu_list(list)) {
        CPU_SET(cpu, &cpus);
    }
    std::array<unsigned long, kMostNodes / kWordBits> nodes{};
    nodes.at(node / kWordBits) = 1UL << node % kWordBits;
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0 ||
        syscall(SYS_set_mempolicy, MPOL_BIND, nodes.data(), kMostNodes) != 0) {
        throw bench::UsageError(
            "option --numa: binding to memory node " + std::to_string(node) +
            " is refused: " + std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
}

} // namespace rdma_batch
