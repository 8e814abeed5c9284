// A libcublas.so.13 for tests: dgemm of the host's BLAS on copies of the fake's memory.
#include <cstddef>
#include <cstdlib>
#include <vector>

extern "C" {

using Pointer = unsigned long long;
int cuMemcpyHtoD_v2(Pointer to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, Pointer from, std::size_t bytes);
void dgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
            const int* k, const double* alpha, const double* a, const int* lda, const double* b,
            const int* ldb, const double* beta, double* c, const int* ldc);

int cublasCreate_v2(void** handle) {
    *handle = std::malloc(1);
    return std::getenv("FAKE_CUBLAS_REFUSES") == nullptr ? 0 : 1;
}
int cublasDestroy_v2(void* handle) {
    std::free(handle);
    return 0;
}
int cublasGetVersion_v2(void*, int* version) {
    *version = 130100;
    return 0;
}
int cublasDgemm_v2(void*, int, int, int m, int n, int k, const double* alpha, Pointer a, int lda,
                   Pointer b, int ldb, const double* beta, Pointer c, int ldc) {
    const auto count = [](int rows, int columns) {
        return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    };
    std::vector<double> left(count(lda, k));
    std::vector<double> right(count(ldb, n));
    std::vector<double> product(count(ldc, n));
    cuMemcpyDtoH_v2(left.data(), a, left.size() * sizeof(double));
    cuMemcpyDtoH_v2(right.data(), b, right.size() * sizeof(double));
    dgemm_("N", "N", &m, &n, &k, alpha, left.data(), &lda, right.data(), &ldb, beta, product.data(),
           &ldc);
    cuMemcpyHtoD_v2(c, product.data(), product.size() * sizeof(double));
    return 0;
}

} // extern "C"
