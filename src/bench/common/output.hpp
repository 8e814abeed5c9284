// What every program needs to leave results behind.
#pragma once

#include <cstdio>
#include <string>

namespace bench {

/// Exit codes of the programs (docs/explanation/method.md, "Exit codes").
enum ExitCode : int { kSuccess = 0, kFailure = 1, kUsage = 2 };

/// Output that cannot be written is noticed at the end, by the caller's fflush.
// NOLINTNEXTLINE(cert-dcl50-cpp): only a variadic function has its formats checked
[[gnu::format(printf, 2, 3)]] void print(std::FILE* stream, const char* format, ...);

/// An explanation why `path` cannot be written, or nothing. Asked before anything is measured.
std::string why_not_writable(const std::string& path);

/// Writes beside `path` and renames, so that a reader never sees half a file; "-" is standard
/// output. Returns an explanation, or nothing on success.
std::string write_file(const std::string& path, const std::string& text);

/// Where the table goes: standard error if the JSON takes standard output.
std::FILE* table_stream(const std::string& json);

} // namespace bench
