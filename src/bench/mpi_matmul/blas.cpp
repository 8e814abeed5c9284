#include "mpi_matmul/blas.hpp"

// The Fortran interface is the one that every BLAS has, and it needs no header.
extern "C" {
void dgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
            const int* k, const double* alpha, const double* a, const int* lda, const double* b,
            const int* ldb, const double* beta, double* c, const int* ldc);

// Null where the BLAS is another one.
[[gnu::weak]] void openblas_set_num_threads(int threads);
[[gnu::weak]] char* openblas_get_config();
[[gnu::weak]] void bli_thread_set_num_threads(std::int64_t threads);
[[gnu::weak]] char* bli_info_get_version_str();
}

namespace mpi_matmul {

void use_one_thread() {
    if (openblas_set_num_threads != nullptr) {
        openblas_set_num_threads(1);
    }
    if (bli_thread_set_num_threads != nullptr) {
        bli_thread_set_num_threads(1);
    }
}

std::string blas_name() {
    if (openblas_get_config != nullptr) {
        std::string name = openblas_get_config();
        name.erase(name.find_last_not_of(' ') + 1);
        return name;
    }
    if (bli_info_get_version_str != nullptr) {
        return std::string("BLIS ") + bli_info_get_version_str();
    }
    return "a BLAS that does not tell its name";
}

void multiply(const double* a, const double* b, double* c, std::uint64_t rows, std::uint64_t n) {
    // Fortran stands column by column: it sees the transposed matrices, and C^T = B^T A^T.
    const int columns = static_cast<int>(n);
    const int own = static_cast<int>(rows);
    const double one = 1.0;
    const double zero = 0.0;
    if (own > 0) {
        dgemm_("N", "N", &columns, &own, &columns, &one, b, &columns, a, &columns, &zero, c,
               &columns);
    }
}

} // namespace mpi_matmul
