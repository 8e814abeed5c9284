#include "common/options.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace {

enum class Kind { Small, Large };
constexpr bench::Choices<Kind, 2> kKinds = {{{"small", Kind::Small}, {"large", Kind::Large}}};

struct Wanted : bench::CommonOptions {
    int rounds = 7;
    std::optional<unsigned> depth;
    Kind kind = Kind::Large;
    bool full = false;
    double wait = 2.5;
    std::string list;
};

bench::OptionTable table_of(Wanted& wanted) {
    bench::OptionTable table("program");
    table.section("Options");
    table.count("i,rounds,iterations=N", wanted.rounds, {1, 1000}, "rounds");
    table.count("depth-of-queue=N", wanted.depth, {1, 9}, "depth");
    table.choice("kind", wanted.kind, kKinds, "kind");
    table.flag("f,full", wanted.full, "all of it");
    table.seconds("wait=SECONDS", wanted.wait, "patience");
    table.value(
        "z,list[=A,B]", "a list", "1,2",
        [&wanted](const std::string& option, const std::string& text) {
            wanted.list = option + "/" + text;
        },
        [&wanted](bench::JsonWriter& json) { json.value(wanted.list); });
    add_common(table, wanted,
               "look at everything that came, and say so in a text that is long "
               "enough to need a second line of the help");
    return table;
}

struct Parsed {
    Wanted wanted;
    std::vector<std::string> words;
    bool given_rounds;
};

Parsed parsed(std::vector<std::string> words) {
    Parsed result;
    bench::OptionTable table = table_of(result.wanted);
    words.insert(words.begin(), "program");
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    result.wanted.action = table.parse(static_cast<int>(words.size()), arguments.data());
    result.words = table.words();
    result.given_rounds = table.given("rounds");
    return result;
}

} // namespace

TEST_CASE("options go by letter, name and other spellings, words are left") {
    const Parsed found = parsed({"-i", "1_0", "a", "--kind", "small", "-f", "--depth-of-queue=3",
                                 "-z7", "--wait", "0.5", "b", "--validation", "--seed", "9"});
    CHECK(found.wanted.rounds == 10);
    CHECK(found.wanted.kind == Kind::Small);
    CHECK(found.wanted.full);
    CHECK(found.wanted.depth == 3);
    CHECK(found.wanted.list == "-z/7");
    CHECK(found.wanted.wait == 0.5);
    CHECK(found.wanted.validate);
    CHECK(found.wanted.seed == 9);
    CHECK(found.words == std::vector<std::string>{"a", "b"});
    CHECK(found.given_rounds);
    CHECK(parsed({"--iterations", "20"}).wanted.rounds == 20);
    CHECK(parsed({"--list"}).wanted.list == "--list/");
    CHECK_FALSE(parsed({}).given_rounds);
    CHECK_FALSE(parsed({"-c", "--no-validate"}).wanted.validate);
    CHECK(parsed({"-f", "-h", "--nonsense"}).wanted.action == bench::Action::Help);
}

TEST_CASE("what an option does not take is told by the name that the user wrote") {
    const std::vector<std::pair<std::vector<std::string>, const char*>> lines = {
        {{"-i", "0"}, "option -i: \"0\" is not a whole number from 1 to 1000"},
        {{"--iterations", "x"}, "option --iterations: \"x\" is not a whole number"},
        {{"--kind", "huge"}, "option --kind: \"huge\" is none of small, large"},
        {{"--wait", "-1"}, "option --wait: \"-1\" is not a positive number"},
        {{"-i"}, "option -i needs a value; see program --help"},
        {{"--wait"}, "option --wait needs a value; see program --help"},
        {{"-q"}, "unknown option -q; see program --help"},
        {{"--speed"}, "unknown option --speed; see program --help"},
    };
    for (const auto& [words, sentence] : lines) {
        CHECK_THROWS_WITH_AS((void)parsed(words), doctest::Contains(sentence), bench::UsageError);
    }
    bench::CommonOptions options;
    options.inject_error = true;
    CHECK_THROWS_AS(check_common(options), bench::UsageError);
}

TEST_CASE("the help tells each option once, with its default, in lines of a terminal") {
    Wanted wanted;
    const std::string help = table_of(wanted).help();
    for (const char* line : {"Options\n  -i, --rounds N                rounds (7)\n",
                             "\n      --depth-of-queue N        depth\n",
                             "\n      --kind small|large        kind (large)\n",
                             "\n      --wait SECONDS            patience (2.5)\n",
                             "\n  -z, --list[=A,B]              a list (1,2)\n",
                             "\n  -v, --version                 the version\n"}) {
        CAPTURE(line);
        CHECK(help.find(line) != std::string::npos);
    }
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
        CHECK(line.size() <= 96);
    }
}

TEST_CASE("the JSON has every option by its name") {
    Wanted wanted;
    wanted.depth = 4;
    wanted.list = "3";
    wanted.json = "file";
    bench::JsonWriter json;
    json.begin_object();
    table_of(wanted).write(json);
    json.end_object();
    const std::string text = json.text();
    for (const char* member :
         {R"("rounds": 7)", R"("depth_of_queue": 4)", R"("kind": "large")", R"("list": "3")",
          R"("json": "file")", R"("validate": false)", R"("time_budget": null)"}) {
        CHECK(text.find(member) != std::string::npos);
    }
    CHECK(text.find("no_validate") == std::string::npos);
}
