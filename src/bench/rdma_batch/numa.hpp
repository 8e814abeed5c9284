// Binding a process to the CPUs and the memory of one node.
#pragma once

#include "rdma_batch/options.hpp"

#include <functional>
#include <string>
#include <vector>

namespace rdma_batch {

/// The CPUs of a list such as "0-3,8". Throws std::runtime_error if it is none.
std::vector<unsigned> parse_cpu_list(const std::string& text);

/// Binds this process, and what it allocates from now on, as the option asks; `device` tells the
/// name of the RDMA device where it matters. Throws bench::UsageError if the machine has no such
/// node.
void bind_to(const Numa& numa, const std::function<std::string()>& device);

} // namespace rdma_batch
