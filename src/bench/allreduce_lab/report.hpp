// What rank 0 says in the end.
#pragma once

#include "allreduce_lab/measure.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace allreduce_lab {

struct Report {
    const Options& options;
    const Result& result;
    std::vector<std::string> hosts;
    double clock_overhead; ///< seconds

    [[nodiscard]] bool complete() const { return result.failure.empty() && result.signal == 0; }
};

void print_table(std::FILE* stream, const Report& report);

std::string json_document(const Report& report);

} // namespace allreduce_lab
