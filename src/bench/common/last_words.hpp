// What a program says where it can only leave: in the handler of a signal.
#pragma once

#include <string>

namespace bench {

/// One sentence, ready to be written by a handler, which may not allocate. A rank that waits a
/// moment before it speaks lets another one's sentence stand alone: that one ends the job
/// meanwhile.
struct LastWords {
    std::string sentence;
    unsigned seconds_to_wait = 0;
};

/// Writes the sentence to standard error and ends the job (see end_job), for handlers of signals.
/// Silent if another signal comes before that.
[[noreturn]] void leave(const LastWords& words);

/// Ends the job so after so many seconds, unless stay() is called before, or leave_after
/// again.
void leave_after(unsigned seconds, const LastWords& words);
void stay();

} // namespace bench
