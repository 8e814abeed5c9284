// The names of the shared layer that mpi_probe's own code uses.
#pragma once

#include "common/world.hpp"

namespace mpi_probe {

using bench::abort_job;
using bench::check;
using bench::wait_all;
using bench::World;

} // namespace mpi_probe
