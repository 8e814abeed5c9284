// Control variables of the MPI, by its tools interface (MPI 4.1, 15.3).
#pragma once

#include "common/report.hpp"

namespace bench {

/// Tells what the MPI made of the control variables that FABRICHECK_VARIABLES names, with blanks
/// between them: "name=value" of those that it has. Nothing where the variable is not set. A sweep
/// asks for them (src/fabricheck/launch/varied.py).
void add_controls(Report& report);

} // namespace bench
