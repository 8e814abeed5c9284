// Memory that the matrices need, and memory that is there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace mpi_matmul {

/// Bytes that a rank with so many rows of its own needs: rank 0 holds A, B and C whole and what the
/// check needs, the others B and their rows of A and C.
std::uint64_t needed_bytes(std::uint64_t n, std::uint64_t rows, bool root);

/// Bytes of a GPU's memory that such a rank needs: where MPI works on it, the same matrices as on
/// the host; on a staged path B and the rank's rows of A and C.
std::uint64_t needed_on_gpu(std::uint64_t n, std::uint64_t rows, bool whole);

/// Bytes that this node can still give: the least of what the kernel calls available and of what
/// the control groups (version 2) of this process leave. Nothing where neither can be read.
/// `root` is / but for tests.
std::optional<std::uint64_t> available_bytes(const std::filesystem::path& root = "/");

/// "1.5 GB", with 10^9 bytes to the GB.
std::string in_words(std::uint64_t bytes);

} // namespace mpi_matmul
