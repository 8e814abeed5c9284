// Where the matrices of a rank lie, and what multiplies them: the host and its BLAS, or the GPU and
// cuBLAS, on whose memory MPI works directly (aware) or by way of pinned host memory (staged).
#pragma once

#include "common/gpu/cublas.hpp"
#include "common/gpu/memory.hpp"
#include "mpi_matmul/options.hpp"

#include <cstdint>

namespace mpi_matmul {

/// What MPI is given: rank 0 holds A, B and C whole and works in its own rows of them; the others
/// hold B, and their rows of A and C.
struct Matrices {
    double* a;
    double* b;
    double* c;
};

class Place {
  public:
    /// For a rank with so many rows of its own. `cublas` is null where the host computes. Throws
    /// std::bad_alloc, or std::runtime_error for the GPU's memory.
    Place(const Options& options, std::uint64_t n, std::uint64_t rows, bool root,
          const bench::gpu::Cublas* cublas);

    [[nodiscard]] Matrices matrices() const;

    /// The phases on this rank. A copy is none unless the path is staged.
    void copy_in();
    void multiply();
    void copy_out();

    /// What a repetition must bring anew is made wrong, so that what is left of the last one is no
    /// proof: every byte 0xff, which makes a double NaN. A GPU multiplies once before, untimed.
    void forget();
    /// Adds 1 to the last element of this rank's C, where MPI takes it from.
    void falsify();

    /// On rank 0: A, B and C where the host can read them, C as it is now.
    [[nodiscard]] Matrices on_host();

  private:
    using Buffer = bench::gpu::Buffer;

    std::uint64_t n_;
    std::uint64_t rows_;
    bool root_;
    bool staged_;
    const bench::gpu::Cublas* cublas_;
    Buffer a_, b_, c_;
    // Of a staged path: on the GPU, with this rank's rows of A and C.
    Buffer gpu_a_, gpu_b_, gpu_c_;
};

} // namespace mpi_matmul
