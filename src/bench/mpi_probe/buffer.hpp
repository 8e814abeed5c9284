// Message buffers of a benchmark.
#pragma once

#include "common/buffer.hpp"

namespace mpi_probe {

using bench::PageBuffer;

/// The buffers of one benchmark; they live as long as the program.
struct Buffers {
    PageBuffer send;
    PageBuffer receive;
    PageBuffer scratch; ///< what rehearsals of a validated iteration receive into
};

} // namespace mpi_probe
