// Ending early in good order: what was measured so far is printed, and marked as incomplete.
#pragma once

#include <string>

namespace bench {

/// From now on SIGINT (Ctrl-C) and SIGTERM (a scheduler) only set a mark, which the program looks
/// at between measurements; an earlier mark is gone. A second signal of the same kind ends it at
/// once.
void watch_interrupts();

/// The signal that arrived first, 0 for none.
int interrupted_by();

/// "SIGINT" or "SIGTERM".
std::string signal_name(int signal);

/// What the program exits with after that signal: 128 + signal, as a shell would say.
int interrupted_code(int signal);

} // namespace bench
