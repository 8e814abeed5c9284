#include "common/interrupt.hpp"

#include <csignal>

namespace bench {

namespace {

constexpr int kShellOffset = 128;
volatile std::sig_atomic_t first_signal = 0;

extern "C" void note_signal(int signal) {
    if (first_signal == 0) {
        first_signal = signal;
    }
}

} // namespace

void watch_interrupts() {
    first_signal = 0;
    struct sigaction action {};
    action.sa_handler = note_signal;
    // SA_RESTART: MPI and verbs must not see calls that were cut off.
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, nullptr);
    (void)sigaction(SIGTERM, &action, nullptr);
}

int interrupted_by() {
    return first_signal;
}

std::string signal_name(int signal) {
    return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

int interrupted_code(int signal) {
    return kShellOffset + signal;
}

} // namespace bench
