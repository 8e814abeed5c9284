// The command of --steer: a process of this host that reads results and says the next pairs.
#pragma once

#include <cstdio>
#include <string>
#include <sys/types.h>

namespace pair_probe {

/// Starts the command in a shell; ends with it. Every member throws std::runtime_error with one
/// sentence if the command can't be started, ended before it said "end", or failed.
class Steering {
  public:
    explicit Steering(const std::string& command);
    ~Steering();
    Steering(const Steering&) = delete;
    Steering& operator=(const Steering&) = delete;

    /// Writes a line to the command. One that reads nothing is fine, as `cat FILE` is.
    void tell(const std::string& line) const;
    /// The next line that the command prints.
    std::string ask();
    /// Waits for its end.
    void finish();

  private:
    void close_pipes();

    pid_t process_ = -1;
    int input_ = -1; ///< of the command
    std::FILE* output_ = nullptr;
};

} // namespace pair_probe
