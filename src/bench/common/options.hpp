// The command line of a program, told once: what is read, what it must be, and what --help prints.
#pragma once

#include "common/arguments.hpp"
#include "common/json.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <getopt.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// What the command line asks for.
enum class Action : std::uint8_t { Run, Help, Version };

/// Whole numbers that an option takes.
struct Range {
    std::uint64_t minimum = 0;
    std::uint64_t maximum = std::numeric_limits<std::uint64_t>::max();
};

/// Options, each with the variable that it sets and whose value until then is its default.
///
/// They are named "i,iterations=N": letters, the name, other spellings that are taken too, and the
/// word for the value in the help; "z,tail-lat[=LIST]" if that may be left out. The variables must
/// outlive the table.
class OptionTable {
  public:
    /// What a value that is none of the common kinds does; `option` as the user wrote it.
    using Take = std::function<void(const std::string& option, const std::string& text)>;
    using Write = std::function<void(JsonWriter& json)>;

    explicit OptionTable(const char* program) : program_(program) {}

    /// A title in the help, above the options that follow.
    void section(const char* title) { next_title_ = title; }

    /// Sets `target` to `meaning`.
    void flag(const char* names, bool& target, const char* help, bool meaning = true);

    /// A whole number; digits may be grouped by "_", as in Python. `fallback` is told as the
    /// default in the place of the target's value.
    template <class Whole>
    void count(const char* names, Whole& target, Range range, const char* help,
               const char* fallback = nullptr) {
        add(
            names, help, fallback == nullptr ? words_of(target) : fallback,
            [&target, range](const std::string& option, const std::string& text) {
                target = static_cast<number_of<Whole>>(
                    parse_count(option, text, range.minimum, range.maximum));
            },
            [&target](JsonWriter& json) { write_number(json, target); });
    }

    /// One of a few words.
    template <class Value, std::size_t Count>
    void choice(const std::string& names, Value& target, const Choices<Value, Count>& choices,
                const char* help) {
        std::string words;
        for (const auto& [word, value] : choices) {
            words += (words.empty() ? "" : "|") + std::string(word);
        }
        add(
            names + "=" + words, help, std::string(word_of(choices, target)),
            [&target, choices](const std::string& option, const std::string& text) {
                target = parse_choice(option, text, choices);
            },
            [&target, choices](JsonWriter& json) {
                const std::string_view word = word_of(choices, target);
                word.empty() ? json.null() : json.value(word);
            });
    }

    /// A positive number of seconds.
    void seconds(const char* names, double& target, const char* help);
    void seconds(const char* names, std::optional<double>& target, const char* help);

    /// Any text. Null in the JSON while it is empty.
    void text(const char* names, std::string& target, const char* help);

    /// Any other kind of value; `write` puts it into the JSON, from which it is left out if empty.
    void value(const char* names, const char* help, const std::string& fallback, Take take,
               Write write);

    /// Reads the command line as getopt_long does. Throws UsageError for an option that is not
    /// known, lacks its value, or has a wrong one.
    Action parse(int argc, char** argv);

    /// Whether the option of that name was on the command line.
    [[nodiscard]] bool given(const char* name) const;
    /// The words that are no options, in their order.
    [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
    /// Throws UsageError if there are such words; `advice` follows what is wrong.
    void refuse_words(const char* advice = "") const;

    /// All options, with --help and --version, as --help prints them.
    [[nodiscard]] std::string help() const;

    /// The member "options" of the program's JSON: each by its name, with its value.
    void write(JsonWriter& json) const;

  private:
    template <class Target>
    struct Number {
        using type = Target;
    };
    template <class Target>
    struct Number<std::optional<Target>> {
        using type = Target;
    };
    template <class Target>
    using number_of = typename Number<Target>::type;

    template <class Whole>
    static std::string words_of(const Whole& target) {
        return std::to_string(target);
    }
    template <class Whole>
    static std::string words_of(const std::optional<Whole>& /*target*/) {
        return {};
    }
    template <class Whole>
    static void write_number(JsonWriter& json, const Whole& target) {
        json.value(static_cast<std::uint64_t>(target));
    }
    template <class Whole>
    static void write_number(JsonWriter& json, const std::optional<Whole>& target) {
        target ? json.value(static_cast<std::uint64_t>(*target)) : json.null();
    }

    struct Row {
        char letter = 0;
        std::vector<std::string> names; ///< the first one is told
        std::string value;              ///< word for it; empty for flags
        int argument = no_argument;
        std::string help;
        std::string fallback;
        const char* title;
        Take take;
        Write write;
        bool given = false;
    };

    void add(const std::string& names, const char* help, const std::string& fallback, Take take,
             Write write);
    [[nodiscard]] std::vector<option> long_options() const;
    [[nodiscard]] std::string letters() const;
    void take(int code, const std::string& name);

    const char* program_;
    const char* next_title_ = nullptr;
    std::vector<Row> rows_;
    std::vector<std::string> words_;
};

/// Prints the help or the version, whichever was asked for.
void answer(Action action, const char* program, const std::string& help);

/// What every program takes.
struct CommonOptions {
    Action action = Action::Run;
    bool validate = false;
    bool inject_error = false;
    std::uint64_t seed = 1;
    std::optional<double> time_budget; ///< seconds for each size, order, row or stream
    std::string json;                  ///< empty: none, "-": standard output
};

/// A program's options as the command line gives them. Unless it asks for the help or the version,
/// `finish` has the last word.
template <class Options, class Finish>
Options parse(OptionTable (*table_of)(Options&), int argc, char** argv, const Finish& finish) {
    Options options;
    OptionTable table = table_of(options);
    options.action = table.parse(argc, argv);
    if (options.action == Action::Run) {
        finish(options, table);
    }
    return options;
}

/// The one with that name of several, nullptr if there is none.
template <class Known>
const Known* find_named(const std::vector<Known>& known, std::string_view name) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [name](const Known& each) { return each.name == name; });
    return found == known.end() ? nullptr : &*found;
}

template <class Known>
std::string names_of(const std::vector<Known>& known) {
    std::string names;
    for (const Known& each : known) {
        names += (names.empty() ? "" : ", ") + std::string(each.name);
    }
    return names;
}

/// What the only word of the command line names, a `kind` such as "benchmark"; `advice` follows
/// where there are more. Throws UsageError.
template <class Known>
const Known* only_named(const OptionTable& table, const std::string& kind,
                        const std::vector<Known>& known, const char* advice = "") {
    const std::vector<std::string>& words = table.words();
    const std::string expected = "; expected one of " + names_of(known);
    if (words.empty()) {
        throw UsageError("no " + kind + " is named" + expected);
    }
    const Known* const found = find_named(known, words.front());
    if (found == nullptr) {
        throw UsageError("unknown " + kind + " \"" + words.front() + "\"" + expected);
    }
    if (words.size() > 1) {
        throw UsageError("one " + kind + " at a time: \"" + words[1] + "\" is one word too many" +
                         advice);
    }
    return found;
}

/// The switches of every program, in a section of their own.
void add_common(OptionTable& table, CommonOptions& options, const char* validated);

/// Throws UsageError if an error is to be injected that nothing would find.
void check_common(const CommonOptions& options);

} // namespace bench
