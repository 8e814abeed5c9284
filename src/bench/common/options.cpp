#include "common/options.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace bench {

namespace {

constexpr int kFirstCode = 256; // beyond all letters
constexpr std::size_t kIndent = 32;
constexpr std::size_t kWidth = 96;

// getopt tells a short option by its letter in optopt, a long one only by the word it just passed.
[[noreturn]] void refuse_word(const char* program, int letter, const char* word) {
    const std::string name =
        optopt > 0 && optopt < kFirstCode ? std::string{'-', static_cast<char>(optopt)} : word;
    throw UsageError(
        (letter == ':' ? "option " + name + " needs a value" : "unknown option " + name) +
        "; see " + program + " --help");
}

// The head of an option, and its text in lines beside and below it.
std::string paragraph(const std::string& head, const std::string& text) {
    std::string result = head;
    std::size_t column = head.size();
    if (column + 2 > kIndent) {
        result += '\n';
        column = 0;
    }
    result.append(kIndent - column, ' ');
    column = kIndent;
    for (const std::string& word : split(text, ' ')) {
        if (column + 1 + word.size() > kWidth) {
            result += '\n' + std::string(kIndent, ' ');
            column = kIndent;
        } else if (column > kIndent) {
            result += ' ';
            ++column;
        }
        result += word;
        column += word.size();
    }
    return result + '\n';
}

} // namespace

void OptionTable::add(const std::string& names, const char* help, const std::string& fallback,
                      Take take, Write write) {
    Row row;
    const std::size_t end = std::min(names.find_first_of("[="), names.size());
    for (const std::string& name : split(names.substr(0, end), ',')) {
        if (name.size() == 1) {
            row.letter = name.front();
        } else {
            row.names.push_back(name);
        }
    }
    row.value = names.substr(end);
    if (!row.value.empty()) {
        row.argument = row.value.front() == '[' ? optional_argument : required_argument;
    }
    row.help = help;
    row.fallback = fallback;
    row.title = std::exchange(next_title_, nullptr);
    row.take = std::move(take);
    row.write = std::move(write);
    rows_.push_back(std::move(row));
}

void OptionTable::flag(const char* names, bool& target, const char* help, bool meaning) {
    add(
        names, help, {},
        [&target, meaning](const std::string& /*option*/, const std::string& /*text*/) {
            target = meaning;
        },
        [&target](JsonWriter& json) { json.value(target); });
    if (!meaning) {
        rows_.back().write = {}; // the option that it takes back tells it
    }
}

void OptionTable::seconds(const char* names, double& target, const char* help) {
    add(
        names, help, plain(target),
        [&target](const std::string& option, const std::string& text) {
            target = parse_seconds(option, text);
        },
        [&target](JsonWriter& json) { json.value(target); });
}

void OptionTable::seconds(const char* names, std::optional<double>& target, const char* help) {
    add(
        names, help, {},
        [&target](const std::string& option, const std::string& text) {
            target = parse_seconds(option, text);
        },
        [&target](JsonWriter& json) { json.value(target); });
}

void OptionTable::text(const char* names, std::string& target, const char* help) {
    value(
        names, help, {},
        [&target](const std::string& /*option*/, const std::string& text) { target = text; },
        [&target](JsonWriter& json) {
            json.value(target.empty() ? std::nullopt : std::optional(target));
        });
}

void OptionTable::value(const char* names, const char* help, const std::string& fallback, Take take,
                        Write write) {
    add(names, help, fallback, std::move(take), std::move(write));
}

std::vector<option> OptionTable::long_options() const {
    std::vector<option> options;
    int code = kFirstCode;
    for (const Row& row : rows_) {
        for (const std::string& name : row.names) {
            options.push_back({name.c_str(), row.argument, nullptr, code});
        }
        ++code;
    }
    options.push_back({"help", no_argument, nullptr, 'h'});
    options.push_back({"version", no_argument, nullptr, 'v'});
    options.push_back({nullptr, 0, nullptr, 0});
    return options;
}

std::string OptionTable::letters() const {
    std::string letters = ":hv";
    for (const Row& row : rows_) {
        if (row.letter != 0) {
            letters += row.letter;
            letters.append(static_cast<std::size_t>(row.argument), ':');
        }
    }
    return letters;
}

void OptionTable::take(int code, const std::string& name) {
    for (std::size_t index = 0; index < rows_.size(); ++index) {
        Row& row = rows_[index];
        if (row.letter == code || kFirstCode + static_cast<int>(index) == code) {
            row.given = true;
            row.take(code < kFirstCode ? std::string{'-', row.letter} : "--" + name,
                     optarg == nullptr ? "" : optarg);
        }
    }
}

Action OptionTable::parse(int argc, char** argv) {
    const std::vector<option> options = long_options();
    const std::string short_options = letters();
    opterr = 0;
    optind = 0; // so that it begins anew, should this be called again
    while (true) {
        int index = 0;
        // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, before anything is measured
        const int code = getopt_long(argc, argv, short_options.c_str(), options.data(), &index);
        switch (code) {
        case -1:
            words_.assign(argv + optind, argv + argc);
            return Action::Run;
        case 'h':
            return Action::Help;
        case 'v':
            return Action::Version;
        case '?':
        case ':':
            refuse_word(program_, code, argv[optind - 1]);
        default:
            take(code, options[static_cast<std::size_t>(index)].name);
        }
    }
}

bool OptionTable::given(const char* name) const {
    return std::any_of(rows_.begin(), rows_.end(),
                       [name](const Row& row) { return row.given && row.names.front() == name; });
}

void OptionTable::refuse_words(const char* advice) const {
    if (!words_.empty()) {
        throw UsageError("\"" + words_.front() + "\" is one word too many" + advice);
    }
}

std::string OptionTable::help() const {
    std::string text;
    for (const Row& row : rows_) {
        if (row.title != nullptr) {
            text.append(text.empty() ? "" : "\n").append(row.title).append("\n");
        }
        std::string head = "      --" + row.names.front() + row.value;
        if (row.letter != 0) {
            head.replace(2, 4, {'-', row.letter, ',', ' '});
        }
        if (row.argument == required_argument) {
            head[head.size() - row.value.size()] = ' '; // for the '='
        }
        text += paragraph(head, row.help + (row.fallback.empty() ? "" : " (" + row.fallback + ")"));
    }
    return text + paragraph("  -h, --help", "this text") +
           paragraph("  -v, --version", "the version");
}

void OptionTable::write(JsonWriter& json) const {
    json.key("options");
    json.begin_object();
    for (const Row& row : rows_) {
        if (row.write) {
            std::string name = row.names.front();
            std::replace(name.begin(), name.end(), '-', '_');
            json.key(name);
            row.write(json);
        }
    }
    json.end_object();
}

void answer(Action action, const char* program, const std::string& help) {
    const std::string version = std::string(program) + " " BENCH_VERSION "\n";
    (void)std::fputs((action == Action::Help ? help : version).c_str(), stdout);
}

void add_common(OptionTable& table, CommonOptions& options, const char* validated) {
    table.section("Of every program");
    table.flag("c,validate,validation", options.validate, validated);
    table.flag("no-validate", options.validate, "leave the data unchecked", false);
    table.flag("inject-error,inject", options.inject_error,
               "falsify something before it is checked, to see that fail");
    table.count("seed=N", options.seed, {}, "of the data");
    table.seconds("time-budget=SECONDS", options.time_budget,
                  "measure at most about so long: fewer repetitions");
    table.text("json=FILE|-", options.json,
               "write the results as JSON; with - the table goes to standard error");
}

void check_common(const CommonOptions& options) {
    if (options.inject_error && !options.validate) {
        throw UsageError("option --inject-error needs --validate, which is what it tests");
    }
}

} // namespace bench
