#include "common/last_words.hpp"

#include "common/world.hpp"

#include <csignal>
#include <ctime>
#include <unistd.h>

namespace bench {

namespace {

LastWords words_of_alarm;

extern "C" void on_alarm(int /*signal*/) {
    leave(words_of_alarm);
}

} // namespace

void leave(const LastWords& words) {
    stay();
    const timespec moment{static_cast<std::time_t>(words.seconds_to_wait), 0};
    if (nanosleep(&moment, nullptr) == 0) {
        [[maybe_unused]] const ssize_t written =
            write(STDERR_FILENO, words.sentence.data(), words.sentence.size());
    }
    end_job();
}

void leave_after(unsigned seconds, const LastWords& words) {
    stay();
    words_of_alarm = words;
    (void)std::signal(SIGALRM, on_alarm);
    alarm(seconds);
}

void stay() {
    alarm(0);
}

} // namespace bench
