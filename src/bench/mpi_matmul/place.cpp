#include "mpi_matmul/place.hpp"

#include "mpi_matmul/blas.hpp"
#include "mpi_matmul/matrices.hpp"
#include "mpi_matmul/shares.hpp"

namespace mpi_matmul {

namespace {

namespace gpu = bench::gpu;
using gpu::Memory;

constexpr int kNotANumber = 0xff;

Memory kind_of(const Options& options) {
    if (options.compute == Compute::Cpu) {
        return Memory::Host;
    }
    return options.path == Path::Staged ? Memory::Pinned : Memory::Device;
}

double* numbers(const gpu::Buffer& matrix) {
    return reinterpret_cast<double*>(matrix.data());
}

void fill_whole(gpu::Buffer& matrix, std::uint64_t n, Name name, std::uint64_t seed) {
    fill(reinterpret_cast<double*>(matrix.image()), n * n, name, seed);
    matrix.push(matrix.bytes());
}

} // namespace

Place::Place(const Options& options, std::uint64_t n, std::uint64_t rows, bool root,
             const gpu::Cublas* cublas)
    : n_(n), rows_(rows), root_(root),
      staged_(options.compute == Compute::Gpu && options.path == Path::Staged), cublas_(cublas) {
    const Memory kind = kind_of(options);
    const std::uint64_t held = matrix_bytes(root ? n : rows, n);
    const std::uint64_t own = matrix_bytes(rows, n);
    const std::uint64_t whole = matrix_bytes(n, n);
    a_ = Buffer(kind, held, 0);
    b_ = Buffer(kind, whole, 0);
    c_ = Buffer(kind, held, 0);
    if (staged_) {
        gpu_a_ = Buffer(Memory::Device, own, 0);
        gpu_b_ = Buffer(Memory::Device, whole, 0);
        gpu_c_ = Buffer(Memory::Device, own, 0);
    }
    if (root) {
        fill_whole(a_, n, Name::A, options.seed);
        fill_whole(b_, n, Name::B, options.seed);
    }
}

Matrices Place::matrices() const {
    return {numbers(a_), numbers(b_), numbers(c_)};
}

void Place::copy_in() {
    if (staged_) {
        const gpu::Driver& driver = gpu::driver();
        gpu::check(
            driver.to_device(gpu::pointer(gpu_a_.data()), a_.data(), matrix_bytes(rows_, n_)),
            "cuMemcpyHtoD");
        gpu::check(driver.to_device(gpu::pointer(gpu_b_.data()), b_.data(), b_.bytes()),
                   "cuMemcpyHtoD");
    }
}

void Place::multiply() {
    if (cublas_ == nullptr) {
        mpi_matmul::multiply(numbers(a_), numbers(b_), numbers(c_), rows_, n_);
    } else if (staged_) {
        cublas_->multiply(numbers(gpu_a_), numbers(gpu_b_), numbers(gpu_c_), rows_, n_);
    } else {
        cublas_->multiply(numbers(a_), numbers(b_), numbers(c_), rows_, n_);
    }
}

void Place::copy_out() {
    if (staged_) {
        gpu::check(
            gpu::driver().to_host(c_.data(), gpu::pointer(gpu_c_.data()), matrix_bytes(rows_, n_)),
            "cuMemcpyDtoH");
    }
}

void Place::forget() {
    // While the host checked a product, the GPU went to sleep: its next kernel would start late.
    if (cublas_ != nullptr) {
        multiply();
    }
    c_.fill(kNotANumber, c_.bytes());
    if (!root_) {
        a_.fill(kNotANumber, a_.bytes());
        b_.fill(kNotANumber, b_.bytes());
    }
    if (staged_) {
        for (Buffer* const copy : {&gpu_a_, &gpu_b_, &gpu_c_}) {
            copy->fill(kNotANumber, copy->bytes());
        }
    }
}

void Place::falsify() {
    double* const last = numbers(c_) + rows_ * n_ - 1;
    if (cublas_ == nullptr || staged_) {
        *last += 1.0;
        return;
    }
    double value = 0.0;
    const gpu::Driver& driver = gpu::driver();
    gpu::check(driver.to_host(&value, gpu::pointer(last), sizeof value), "cuMemcpyDtoH");
    value += 1.0;
    gpu::check(driver.to_device(gpu::pointer(last), &value, sizeof value), "cuMemcpyHtoD");
    gpu::check(driver.synchronize(), "cuCtxSynchronize");
}

Matrices Place::on_host() {
    c_.pull(c_.bytes());
    const auto image = [](Buffer& matrix) { return reinterpret_cast<double*>(matrix.image()); };
    return {image(a_), image(b_), image(c_)};
}

} // namespace mpi_matmul
