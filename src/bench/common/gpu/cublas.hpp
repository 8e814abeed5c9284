// Matrix products on the GPU, by cuBLAS.
#pragma once

#include <cstdint>
#include <string>

namespace bench::gpu {

/// cuBLAS on this thread's GPU.
class Cublas {
  public:
    /// Loads libcublas.so of CUDA 13, 12 or 11. Throws NoGpu.
    Cublas();
    ~Cublas();
    Cublas(const Cublas&) = delete;
    Cublas& operator=(const Cublas&) = delete;

    /// "cuBLAS 13.1.0 (libcublas.so.13)"
    [[nodiscard]] const std::string& name() const { return name_; }

    /// c = a b, all in device memory: `rows` rows of a and c, all of b; every matrix has n columns
    /// and stands row by row. Returns when c is there. Throws std::runtime_error.
    void multiply(const double* a, const double* b, double* c, std::uint64_t rows,
                  std::uint64_t n) const;

    /// Bytes of device memory that it takes for itself, at most.
    static constexpr std::uint64_t kWorkspace = std::uint64_t{256} << 20U;

  private:
    using Handle = void*;

    Handle handle_ = nullptr;
    std::string name_;
    int (*destroy_)(Handle handle) = nullptr;
    int (*dgemm_)(Handle handle, int transpose_a, int transpose_b, int m, int n, int k,
                  const double* alpha, const double* a, int lda, const double* b, int ldb,
                  const double* beta, double* c, int ldc) = nullptr;
};

} // namespace bench::gpu
