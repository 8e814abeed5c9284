#include "common/report.hpp"

#include "common/interrupt.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace bench {

namespace {

constexpr unsigned kThousandths = 1000;

std::string number(double value, int decimals) {
    std::array<char, 340> text{};
    (void)std::snprintf(text.data(), text.size(), decimals < 0 ? "%.*g" : "%.*f",
                        std::abs(decimals), value);
    return text.data();
}

std::string cell_of(const Column& column, double value) {
    if (!std::isfinite(value)) {
        return "-";
    }
    value *= column.factor;
    return number(value, value < 1 && column.small >= 0 ? column.small : column.decimals);
}

struct CellText {
    const Column& column;

    std::string operator()(bool truth) const { return truth ? "Pass" : "Fail"; }
    std::string operator()(std::uint64_t value) const {
        return column.factor == 1 ? std::to_string(value)
                                  : cell_of(column, static_cast<double>(value));
    }
    std::string operator()(double value) const { return cell_of(column, value); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const Statistics& statistics) const {
        for (const auto& [name, value] : statistics) {
            if (name == column.statistic) {
                return cell_of(column, value);
            }
        }
        return "-";
    }
    template <class Other>
    std::string operator()(const Other& /*none of a table*/) const {
        return "-";
    }
};

struct FactText {
    std::string operator()(const std::vector<std::string>& words) const {
        std::string text;
        for (const std::string& word : words) {
            text += (text.empty() ? "" : " ") + word;
        }
        return text;
    }
    // Of each rank; the clock is what is told so.
    std::string operator()(const std::vector<double>& seconds) const {
        constexpr double kToNano = 1e9;
        return number(kToNano * *std::max_element(seconds.begin(), seconds.end()), 1) + " ns";
    }
    template <class Other>
    std::string operator()(const Other& value) const {
        return CellText{{}}(value);
    }
};

struct JsonValue {
    JsonWriter& json;

    void operator()(std::monostate /*nothing*/) const { json.null(); }
    void operator()(const Statistics& statistics) const {
        json.begin_object();
        for (const auto& [name, value] : statistics) {
            json.member(name, value);
        }
        json.end_object();
    }
    template <class Other>
    void operator()(const Other& value) const {
        json.value(value);
    }
};

void write_fields(JsonWriter& json, const Row& row) {
    json.begin_object();
    for (const Field& field : row) {
        json.key(field.name);
        std::visit(JsonValue{json}, field.value);
    }
    json.end_object();
}

const Field* find(const Row& row, std::string_view name) {
    const auto found = std::find_if(row.begin(), row.end(),
                                    [name](const Field& field) { return field.name == name; });
    return found == row.end() ? nullptr : &*found;
}

std::string padded(const std::string& text, int width) {
    const auto whole = static_cast<std::size_t>(std::abs(width));
    const std::string blanks(whole - std::min(whole, text.size()), ' ');
    return width < 0 ? text + blanks : blanks + text;
}

} // namespace

Statistics statistics_of(const std::vector<double>& ascending, double average,
                         const std::vector<unsigned>& more) {
    std::vector<unsigned> percentiles = {50'000, 90'000, 95'000, 99'000, 99'900};
    for (const unsigned percent : more) {
        percentiles.push_back(percent * kThousandths);
    }
    std::sort(percentiles.begin(), percentiles.end());
    percentiles.erase(std::unique(percentiles.begin(), percentiles.end()), percentiles.end());
    Statistics found = {{"avg", average}, {"min", ascending.front()}, {"max", ascending.back()}};
    for (const unsigned each : percentiles) {
        const int decimals = each % kThousandths == 0 ? 0 : 1;
        found.emplace_back("p" + number(static_cast<double>(each) / kThousandths, decimals),
                           percentile_of_sorted(ascending, {each}));
    }
    return found;
}

Value value_of(const std::optional<bool>& truth) {
    return truth ? Value(*truth) : Value();
}

std::string cell(const Column& column, const Row& row) {
    const Field* const field = find(row, column.field);
    return field == nullptr ? "-" : std::visit(CellText{column}, field->value);
}

void Report::fact(const char* name, Value value, const char* label) {
    facts_.push_back({label, {name, std::move(value)}});
}

void Report::print_facts() const {
    for (const auto& [label, fact] : facts_) {
        if (label != nullptr) {
            bench::print(stream_, "# %s: %s\n", label, std::visit(FactText{}, fact.value).c_str());
        }
    }
}

void Report::set_columns(std::vector<Column> columns, std::string indent, std::string mark,
                         std::string between) {
    columns_ = std::move(columns);
    indent_ = std::move(indent);
    mark_ = std::move(mark);
    between_ = std::move(between);
}

void Report::print_titles() const {
    std::string line;
    for (const Column& column : columns_) {
        line += (line.empty() ? mark_ : between_) + padded(column.title, column.width);
    }
    bench::print(stream_, "%s\n", line.c_str());
    (void)std::fflush(stream_);
}

void Report::add(Row row) {
    std::string line;
    for (const Column& column : columns_) {
        line += (line.empty() ? indent_ : between_) + padded(cell(column, row), column.width);
    }
    if (!columns_.empty()) {
        bench::print(stream_, "%s\n", line.c_str());
        (void)std::fflush(stream_);
    }
    rows_.push_back(std::move(row));
}

const char* Report::validation() const {
    const char* found = "off";
    for (const Row& row : rows_) {
        const Field* const valid = find(row, "valid");
        const bool* const truth = valid == nullptr ? nullptr : std::get_if<bool>(&valid->value);
        if (truth != nullptr && !*truth) {
            return "failed";
        }
        found = truth != nullptr ? "passed" : found;
    }
    return found;
}

void Report::write_units(JsonWriter& json) const {
    std::vector<std::string> told;
    json.key("units");
    json.begin_object();
    for (const Row& row : rows_) {
        for (const Field& field : row) {
            const bool is_new = std::find(told.begin(), told.end(), field.name) == told.end();
            if (*field.unit != '\0' && is_new) {
                told.emplace_back(field.name);
                json.member(field.name, field.unit);
            }
        }
    }
    json.end_object();
}

bool Report::is_complete(std::size_t expected, int signal) const {
    return signal == 0 && failures_.empty() && std::string_view(validation()) != "failed" &&
           rows_.size() == expected;
}

std::string Report::json(const OptionTable& options, std::size_t expected, int signal) const {
    JsonWriter json;
    json.begin_object();
    json.member("schema", "fabricheck-result-1");
    json.member("program", program_);
    json.member("version", BENCH_VERSION);
    json.member("benchmark", benchmark_);
    options.write(json);
    json.key("environment");
    Row facts;
    for (const auto& [label, fact] : facts_) {
        facts.push_back(fact);
    }
    write_fields(json, facts);
    write_units(json);
    json.key("results");
    json.begin_array();
    for (const Row& row : rows_) {
        write_fields(json, row);
    }
    json.end_array();
    json.member("expected", std::uint64_t{expected});
    json.member("validation", validation());
    json.member("failures", failures_);
    json.member("interrupted", signal == 0 ? std::nullopt : std::optional(signal_name(signal)));
    json.member("complete", is_complete(expected, signal));
    json.end_object();
    return json.text();
}

void Report::print_end(std::size_t expected, const char* results, int signal) const {
    for (const std::string& failure : failures_) {
        bench::print(stream_, "# Failed: %s\n", failure.c_str());
    }
    if (std::string_view(validation()) == "failed") {
        const Row& wrong = rows_.back();
        bench::print(stream_, "DATA VALIDATION ERROR: %s exited with status %d on %s %s.\n",
                     program_.c_str(), kFailure, wrong.front().name,
                     cell({{}, 0, wrong.front().name}, wrong).c_str());
    }
    if (is_complete(expected, signal)) {
        bench::print(stream_, "# Complete: %zu %s\n", rows_.size(), results);
    } else {
        bench::print(stream_, "# %s after %zu of %zu %s\n",
                     signal == 0 ? "Incomplete:" : ("Interrupted: " + signal_name(signal)).c_str(),
                     rows_.size(), expected, results);
    }
}

int Report::end(const std::string& file, const OptionTable& options, std::size_t expected,
                const char* results, int signal) const {
    print_end(expected, results, signal);
    int code = is_complete(expected, signal) ? kSuccess : kFailure;
    if (signal != 0) {
        code = interrupted_code(signal);
    }
    if (std::fflush(stream_) != 0 || std::ferror(stream_) != 0) {
        bench::print(stderr, "%s: the table could not be written\n", program_.c_str());
        code = kFailure;
    }
    const std::string reason =
        file.empty() ? std::string() : write_file(file, json(options, expected, signal));
    if (!reason.empty()) {
        bench::print(stderr, "%s: %s could not be written: %s\n", program_.c_str(), file.c_str(),
                     reason.c_str());
        code = kFailure;
    }
    return code;
}

} // namespace bench
