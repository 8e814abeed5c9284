// The one call of the BLAS.
#pragma once

#include <cstdint>
#include <string>

namespace mpi_matmul {

/// Has the BLAS compute with one thread, as every rank has one core; for OpenBLAS and BLIS, which
/// have a function for it. Others take it from their environment variables.
void use_one_thread();

/// Name and version of the BLAS where it tells them, else "a BLAS that does not tell its name".
std::string blas_name();

/// c = a b: `rows` rows of a and c, all of b; every matrix has n columns and stands row by row.
void multiply(const double* a, const double* b, double* c, std::uint64_t rows, std::uint64_t n);

} // namespace mpi_matmul
