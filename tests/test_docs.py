"""What README and docs say holds: their commands parse, their files exist, each finding has a row.

That the commands do what the text says is for the tests of the commands.
"""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import typer.main
import yaml
from tests.test_layout import DOCUMENTS, ROOT, text_of

from fabricheck.cli.application import COMMANDS as LISTED
from fabricheck.cli.application import build
from fabricheck.fabric.counters import BANDS
from fabricheck.node_health.rules import RULES
from fabricheck.report.status import Status
from fabricheck_testbed.cli import application
from fabricheck_testbed.door import OWN

READMES = ("README.md", "testbed/README.md")
PAGES = [name for name in DOCUMENTS if name.startswith("docs/") or name in READMES]
FINDINGS = "docs/how-to/red-or-untrusted.md"
WIDTH = 100


class Command(NamedTuple):
    """A command line of a page, without what the shell takes of it."""

    page: str
    words: tuple[str, ...]


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Language and text of each fenced block."""
    for match in re.finditer(r"^ *```(\w*)\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL):
        yield match[1], match[2]


def is_script(language: str) -> bool:
    return language in ("sh", "bash")


def lines_of(block: str) -> Iterator[str]:
    """The lines of a block, with those that go on joined."""
    yield from re.sub(r"\\\n\s*", " ", block).splitlines()


def simple_commands(line: str) -> Iterator[tuple[str, ...]]:
    """The commands of a line, parted by the shell's operators, without assignments before them."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set("|&;<>"):
            while words and re.fullmatch(r"\w+=.*", words[0]):
                del words[0]
            if words:
                yield tuple(words)
            words = []
        else:
            words.append(word)


def commands(page: str) -> Iterator[Command]:
    for language, block in blocks(text_of(page)):
        for line in lines_of(block):
            if is_script(language) or re.match(r"(fabricheck|reframe|(bin|ci|lab)/\S+) ", line):
                try:
                    yield from (Command(page, words) for words in simple_commands(line))
                except ValueError:
                    assert not is_script(language), f"{page}: {line}"


APP: Any = typer.main.get_command(build([]))


def examples(command: Any) -> Iterator[Command]:
    """The command lines of --help, which the page of commands leaves to it."""
    for each in getattr(command, "commands", {}).values():
        yield from examples(each)
    text = (command.help or "").partition("Examples:")[2].replace("\b\n", "")
    for line in lines_of(text):
        yield from (Command(f"{command.name} --help", words) for words in simple_commands(line))


def helps(command: Any) -> Iterator[str]:
    for each in getattr(command, "commands", {}).values():
        yield from helps(each)
    yield command.help or ""


def test_sentences_of_help_fill_the_width_and_examples_keep_their_lines() -> None:
    paragraphs = [each for text in helps(APP) for each in text.split("\n\n")]
    assert any(each.startswith("    fabricheck ") for each in paragraphs)
    broken = [each for each in paragraphs if "\n" in each and "\n " not in f"\n{each}"]
    assert broken == []


COMMANDS = [*(each for page in PAGES for each in commands(page)), *examples(APP)]
PROGRAMS = {"fabricheck": APP, "testbed": typer.main.get_command(application(OWN))}


def refused(words: tuple[str, ...]) -> str:
    """Why the command line refuses words; empty if it takes them."""
    command, context, rest = PROGRAMS[words[0]], None, list(words)
    while True:
        try:
            context = command.make_context(rest[0], rest[1:], parent=context)
        except SystemExit as end:
            return f"exit code {end.code}" if end.code else ""
        except Exception as error:
            fine = type(error).__name__ in ("Exit", "NoArgsIsHelpError")
            return "" if fine else str(getattr(error, "message", error))
        if not hasattr(command, "list_commands"):
            return ""
        rest = [*context._protected_args, *context.args]
        if not rest:
            return ""
        command = command.get_command(context, rest[0])
        if command is None:
            return f"no command {rest[0]}"


def test_the_list_of_commands_has_the_first_sentence_of_each() -> None:
    assert {name: each.help.partition("\n\n")[0] for name, each in APP.commands.items()} == LISTED


def test_commands_are_found() -> None:
    assert sum(each.words[0] == "fabricheck" for each in COMMANDS) > 100
    assert sum(each.page == "plan --help" for each in COMMANDS) > 3


def test_the_command_lines_of_the_pages_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fabricheck"])
    assert {each.words[0] for each in COMMANDS} >= PROGRAMS.keys()
    wrong = {
        f"{each.page}: {' '.join(each.words)}": why
        for each in COMMANDS
        if each.words[0] in PROGRAMS
        and "..." not in each.words
        and "…" not in each.words
        and (why := refused(each.words))
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "line",
    ["fabricheck nonsense", "fabricheck history nonsense", "fabricheck run --nonsense",
     "fabricheck accept --sign", "testbed up --nonsense"],
)  # fmt: skip
def test_a_wrong_command_line_is_seen(line: str) -> None:
    assert refused(tuple(line.split()))


def test_options_in_the_text_exist() -> None:
    wrong = []
    for page in PAGES:
        prose = re.sub(r"^ *```.*?^ *```", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
        for line in re.findall(r"`(fabricheck [^`]+)`", prose):
            options, command = set(), APP
            for word in re.split(r"[\s=]+", " ".join(line.split()).partition(" && ")[0])[1:]:
                if word.startswith("--"):
                    options.add(word)
                elif hasattr(command, "list_commands"):
                    command = command.commands.get(word, command)
            known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
            if options - known - {"--help"}:
                wrong.append(f"{page}: {line}")
    assert wrong == []


def test_scripts_of_the_pages_are_there() -> None:
    wrong = []
    for page, words in COMMANDS:
        if re.match(r"(bin|ci|lab)/", words[0]) and not (ROOT / words[0]).is_file():
            wrong.append(f"{page}: {words[0]}")
        wrong += [
            f"{page}: {word}"
            for word in words
            if re.match(r"checks/\w+\.py", word) and not (ROOT / word).is_file()
        ]
    assert wrong == []


@pytest.mark.integration
def test_scripts_are_bash() -> None:
    wrong = {}
    for page in PAGES:
        text = "\n".join(block for language, block in blocks(text_of(page)) if is_script(language))
        done = subprocess.run(
            ["bash", "-n"], input=text, capture_output=True, text=True, check=False
        )
        if done.returncode:
            wrong[page] = done.stderr
    assert wrong == {}


def prose_of(text: str) -> Iterator[tuple[int, str]]:
    """Lines that can be broken: neither of a table or a block, nor one link or picture."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if not (fence or fenced or line.lstrip().startswith("|") or re.match(r"!?\[.*\)$", line)):
            yield number, line


@pytest.mark.parametrize("name", DOCUMENTS)
def test_prose_is_no_wider_than_it_may(name: str) -> None:
    assert [number for number, line in prose_of(text_of(name)) if len(line) > WIDTH] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_with_what_it_is_for_and_a_command(name: str) -> None:
    title, _, rest = text_of(name).partition("\n\n")
    assert title.startswith("# ")
    assert re.match(r"[A-Z`(!\[*]", rest), "a page opens with a sentence"
    if name != "docs/explanation/decisions.md":
        opening = "\n".join(rest.splitlines()[:40])
        assert re.search(r"^ *```|^    \S", opening, re.MULTILINE), "and with a command to copy"


def test_every_page_is_in_the_index_and_in_the_sites_navigation() -> None:
    class Loader(yaml.SafeLoader):
        pass

    Loader.add_multi_constructor("!!python/", lambda *_: None)
    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
    site = yaml.load(text_of("mkdocs.yml"), Loader)
    listed = set(re.findall(r"'([\w/-]+\.md)'", str(site["nav"])))
    pages = {name.removeprefix("docs/") for name in PAGES if name not in READMES}
    assert listed == pages
    linked = set(re.findall(r"\]\(([\w/-]+\.md)", text_of("docs/index.md")))
    assert linked == pages - {"index.md"}


def test_every_decision_has_number_and_day() -> None:
    text = text_of("docs/explanation/decisions.md")
    entries = re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)
    assert len(entries) > 80
    day = r"\*\*(\d+)\. [^*]+\*\*[^(]*\(20\d\d-\d\d-\d\d\)"
    assert [each for each in entries if not re.match(day, each)] == []
    numbers = [re.match(day, each)[1] for each in entries]
    assert len(numbers) == len(set(numbers))


# Where findings on cases come from; what ends a command with exit code 2 says itself what to do.
SOURCES = [
    *(f"transports/{name}.py" for name in
      ("proof", "statement", "gpu_memory", "nccl", "pair", "ucx_info")),
    *(f"launch/{name}.py" for name in ("evidence", "gpu", "verbs", "judging")),
    *(f"programs/{name}/judge.py" for name in ("allreduce_lab", "perftest", "rdma_stream")),
    "programs/perftest/read.py", "measures/program_result.py",
    "judge/physics.py", "judge/findings.py", "judge/shape.py",
    "node_health/clocks.py", "localise/judging.py",
    "reframe_ext/linkage.py", "reframe_ext/surveys.py", "reframe_ext/pair_health.py",
]  # fmt: skip
BEGINNING = re.compile(r"expected |node failure|time limit|the allocation|TCP segments|no refer")


def sentence(node: ast.AST) -> str:
    """The text of a string, with … for what is put into it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{[^}]*\}", "…", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(sentence(each) or "…" for each in node.values)
    return ""


def findings(text: str) -> set[str]:
    """What findings begin with: all that comes before what was found."""
    tree = ast.parse(text)
    parts = {id(each) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
             for each in node.values}  # fmt: skip
    found = {sentence(node) for node in ast.walk(tree) if id(node) not in parts}
    heads = {
        re.split(r", found|, as in|; |: |, which| \(|, \S+ did not", each)[0] for each in found
    }
    return {head for head in heads if BEGINNING.match(head)}


def test_every_finding_has_a_row() -> None:
    page = text_of(FINDINGS)
    source = ROOT / "src" / "fabricheck"
    missing = {
        f"{name}: {head}"
        for name in SOURCES
        for head in findings((source / name).read_text())
        if f"`{head.rstrip('… ')}" not in page
    }
    assert missing == set()


def test_causes_in_the_table_of_faults_are_sentences_of_today() -> None:
    source = ROOT / "src" / "fabricheck"
    heads = [head for name in SOURCES for head in findings((source / name).read_text())]
    known = re.compile("|".join(re.escape(head).replace("…", ".+?") for head in heads))
    page = text_of(ROOT / "docs" / "explanation" / "faults.md")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| **")]
    causes = [row[3] for row in rows if BEGINNING.match(row[3])]
    assert len(causes) > 2
    assert [cause for cause in causes if not known.match(cause)] == []


def test_every_status_prerequisite_subject_and_band_is_named() -> None:
    page = text_of(FINDINGS).replace("\n", " ")
    subjects = set()
    for path in sorted((ROOT / "src/fabricheck/fabric").glob("*.py")):
        subjects |= set(re.findall(r'Level\.(?:CRITICAL|WARNING), "([^"]+)"', path.read_text()))
    names = {*map(str, Status), *(rule.name for rule in RULES), *BANDS, *subjects}
    assert {name for name in names if f"`{name}" not in page} == set()


def test_a_finding_without_a_row_would_be_seen() -> None:
    assert findings('x = f"expected the moon on {node}, found {place}: look up"') == {
        "expected the moon on …"
    }


@pytest.mark.integration
def test_the_commands_page_is_that_of_the_code() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "ci" / "document-commands.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
