#include "common/interrupt.hpp"

#include <doctest/doctest.h>

#include <csignal>

TEST_CASE("the first signal is kept, and a second one of its kind would end the program") {
    bench::watch_interrupts();
    CHECK(bench::interrupted_by() == 0);
    CHECK(std::raise(SIGTERM) == 0);
    CHECK(bench::interrupted_by() == SIGTERM);
    CHECK(std::raise(SIGINT) == 0);
    CHECK(bench::interrupted_by() == SIGTERM);

    struct sigaction left {};
    CHECK(sigaction(SIGTERM, nullptr, &left) == 0);
    CHECK((left.sa_handler == SIG_DFL)); // doctest prints no pointers to functions

    bench::watch_interrupts();
    CHECK(bench::interrupted_by() == 0);
    (void)std::signal(SIGINT, SIG_DFL);
    (void)std::signal(SIGTERM, SIG_DFL);
}

TEST_CASE("exit codes after a signal are a shell's") {
    CHECK(bench::signal_name(SIGINT) == "SIGINT");
    CHECK(bench::signal_name(SIGTERM) == "SIGTERM");
    CHECK(bench::interrupted_code(SIGINT) == 130);
    CHECK(bench::interrupted_code(SIGTERM) == 143);
}
