// What a program found: facts of the run, and results. The table for people and the JSON of
// schema/result-1.json (docs/reference/programs/results.md) are both made from them.
#pragma once

#include "common/options.hpp"
#include "common/output.hpp"
#include "common/statistics.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

/// Names of statistics with their values, in SI base units.
using Statistics = std::vector<std::pair<std::string, double>>;

/// Least, average, percentiles and greatest of samples in ascending order, at least one: those that
/// every program tells, and `more`.
Statistics statistics_of(const std::vector<double>& ascending, double average,
                         const std::vector<unsigned>& more = {});

/// std::monostate is null.
using Value = std::variant<std::monostate, bool, std::uint64_t, double, std::string, Statistics,
                           std::vector<double>, std::vector<std::string>>;

Value value_of(const std::optional<bool>& truth);

/// A member of a result. The unit is one of the schema: "s", "B", "B/s", "bit/s", "flop/s", "1/s",
/// "1" for counts and ratios; empty for what is no number.
struct Field {
    const char* name;
    Value value;
    const char* unit = "";
};
using Row = std::vector<Field>;

/// A column of the table: which field, or which statistic of it, and how it is printed.
struct Column {
    std::string title;
    int width; ///< negative: left-aligned
    const char* field;
    std::string statistic = {}; // NOLINT(readability-redundant-member-init): may be left out
    double factor = 1;          ///< from the field's unit to that of the table
    int decimals = 2;
    int small = -1; ///< decimals of what is below 1; negative: as of everything
};

constexpr double kToMicro = 1e6;
constexpr double kToMega = 1e-6;
constexpr double kToGiga = 1e-9;
/// As decimals: six digits, where they stand.
constexpr int kSixDigits = -6;

/// What stands in that column, without blanks; "-" for nothing.
std::string cell(const Column& column, const Row& row);

/// One run of a program.
class Report {
  public:
    /// Printed to the stream; the benchmark is the one of the program's that runs.
    Report(std::FILE* stream, const char* program, std::string_view benchmark)
        : stream_(stream), program_(program), benchmark_(benchmark) {}

    /// A member of the JSON's environment; with a label also the line "# Label: value".
    void fact(const char* name, Value value, const char* label = nullptr);
    /// Prints the lines of the facts that have a label.
    void print_facts() const;

    /// The columns, and what stands before a row, before their titles, and between cells.
    void set_columns(std::vector<Column> columns, std::string indent = {}, std::string mark = {},
                     std::string between = {});
    void print_titles() const;
    /// Takes a result, which is printed as a row of the table.
    void add(Row row);

    /// Why the run did not come to its end.
    void fail(std::string sentence) { failures_.push_back(std::move(sentence)); }
    [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }

    /// Ends the output: the last line, which says whether all `expected` results are there, and
    /// the JSON, unless `file` is empty ("-" is standard output). `results` names them in the
    /// plural; `signal` is the one that ended the run early, or 0. The run is complete if nothing
    /// is missing, wrong or failed. Returns the exit code.
    [[nodiscard]] int end(const std::string& file, const OptionTable& options, std::size_t expected,
                          const char* results, int signal) const;

    /// The JSON document that `end` writes.
    [[nodiscard]] std::string json(const OptionTable& options, std::size_t expected,
                                   int signal) const;

    [[nodiscard]] std::FILE* stream() const { return stream_; }

  private:
    [[nodiscard]] bool is_complete(std::size_t expected, int signal) const;
    void print_end(std::size_t expected, const char* results, int signal) const;
    [[nodiscard]] const char* validation() const;
    void write_units(JsonWriter& json) const;

    std::FILE* stream_;
    std::string program_;
    std::string benchmark_;
    std::vector<std::pair<const char*, Field>> facts_; ///< label, and what it says
    std::vector<Column> columns_;
    std::string indent_, mark_, between_;
    std::vector<Row> rows_;
    std::vector<std::string> failures_;
};

} // namespace bench
