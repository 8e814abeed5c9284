// The two outputs: OSU's table, and JSON. Both are written by rank 0.
#pragma once

#include "mpi_probe/measure.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace mpi_probe {

/// Prints OSU 7.x's table line by line as sizes are measured. Its last line tells that no size is
/// missing: a table without it was cut.
class Table {
  public:
    Table(std::FILE* stream, const World& world, const Options& options)
        : stream_(stream), world_(world), options_(options) {}

    void print_head() const;
    void print_row(const SizeResult& result) const;
    void print_complete(std::size_t sizes) const;
    void print_interrupted(int signal, std::size_t sizes) const;
    void print_validation_error(std::uint64_t size) const;

  private:
    void print_metadata() const;
    void print_columns() const;

    std::FILE* stream_;
    const World& world_;
    const Options& options_;
};

/// The JSON document; the keys are described in docs/method.md, "JSON".
std::string json_document(const World& world, const Options& options,
                          const std::vector<SizeResult>& results, bool complete, int signal);

} // namespace mpi_probe
