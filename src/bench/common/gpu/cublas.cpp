#include "common/gpu/cublas.hpp"

#include "common/gpu/driver.hpp"
#include "common/gpu/library.hpp"

#include <stdexcept>

namespace bench::gpu {

Cublas::Cublas() {
    const Library library({"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"},
                          "cuBLAS computes on the GPU; put its folder into LD_LIBRARY_PATH");
    int (*create)(Handle * handle) = nullptr;
    int (*version)(Handle handle, int* number) = nullptr;
    library.find(create, "cublasCreate_v2");
    library.find(version, "cublasGetVersion_v2");
    library.find(destroy_, "cublasDestroy_v2");
    library.find(dgemm_, "cublasDgemm_v2");
    const int error = create(&handle_);
    if (error != 0) {
        throw NoGpu("cublasCreate of " + library.name() + " says " + std::to_string(error) +
                    ": it does not fit the driver, or the GPU has no memory left");
    }
    int number = 0;
    (void)version(handle_, &number);
    constexpr int kMajor = 10'000;
    constexpr int kMinor = 100;
    name_ = "cuBLAS " + std::to_string(number / kMajor) + "." +
            std::to_string(number % kMajor / kMinor) + "." + std::to_string(number % kMinor) +
            " (" + library.name() + ")";
}

Cublas::~Cublas() {
    (void)destroy_(handle_);
}

void Cublas::multiply(const double* a, const double* b, double* c, std::uint64_t rows,
                      std::uint64_t n) const {
    // As Fortran's: it sees the transposed matrices, and C^T = B^T A^T.
    const int columns = static_cast<int>(n);
    const int own = static_cast<int>(rows);
    const double one = 1.0;
    const double zero = 0.0;
    if (own > 0) {
        const int error = dgemm_(handle_, 0, 0, columns, own, columns, &one, b, columns, a, columns,
                                 &zero, c, columns);
        if (error != 0) {
            throw std::runtime_error("cublasDgemm failed with error " + std::to_string(error));
        }
        check(driver().synchronize(), "cuCtxSynchronize");
    }
}

} // namespace bench::gpu
