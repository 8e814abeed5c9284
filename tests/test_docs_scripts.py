"""The other command lines of README and docs are sound: those of make, ci, lab, ReFrame, programs.

They take minutes to hours, so that they are not run: make says what it would do, and each script
reads the line with its own code and then ends. What needs no more than a second runs whole.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.test_docs import PAGES, blocks, is_script, lines_of, refused, simple_commands
from tests.test_layout import FILES, ROOT, text_of

NAMES = [*PAGES, "CONTRIBUTING.md"]
PROGRAMS = ("mpi_probe", "mpi_matmul", "rdma_batch", "rdma_stream", "allreduce_lab")
STARTERS = {"nice", "sudo", "mpirun", "srun", "time", "exec"}
WHOLE = {("lab/faults.py", "--list"), ("lab/compare-with-osu.py", "--help")}
"""Lines that are run as they are."""

UV = "ci/lock"
"""Its options are those of uv."""


def command_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """A command without what starts it, such as ``nice`` or ``mpirun -n 2``."""
    for number, word in enumerate(words):
        tool = word == "reframe" or word in PROGRAMS or re.match(r"(bin|ci|lab)/[\w.-]+$", word)
        if word == "make" or (tool and (number == 0 or words[0] in STARTERS)):
            return words[number:]
    return ()


def examples() -> Iterator[tuple[str, ...]]:
    """The command lines of the programs' --help, of which the pages have the first."""
    for path in sorted((ROOT / "src" / "bench").glob("*/options.cpp")):
        shown = path.read_text().partition("Examples")[2].partition(";\n")[0]
        for line in shown.replace('\\n"', "").splitlines():
            words = command_of(tuple(line.partition("#")[0].replace('"', " ").split()))
            if words and words[0] in PROGRAMS:
                yield words


def found_commands() -> list[tuple[str, ...]]:
    """Each command line of ours once, in scripts and in what is shown indented."""
    found: dict[tuple[str, ...], None] = dict.fromkeys(examples())
    for page in NAMES:
        for language, block in blocks(text_of(page)):
            for line in lines_of(block):
                if is_script(language) or re.match(r"(bin|ci|lab)/\S+ |reframe ", line):
                    try:
                        for words in simple_commands(line):
                            found[command_of(words)] = None
                    except ValueError:
                        assert not is_script(language), f"{page}: {line}"
    return [
        tuple(re.sub(r"\$\(.*\)", "1", word) for word in words)  # what the shell puts in
        for words in found
        if words and not {"...", "…"} & set(words)
    ]


COMMANDS = found_commands()

READ = """
import argparse, contextlib, io, json, os, runpy, sys
from typer.core import TyperCommand
from reframe.frontend import argparse as reframe_argparse, cli

class Taken(BaseException):
    "The line was read to its end."

def ending(parser):
    read = parser.parse_args
    def parse_args(self, *given, **options):
        read(self, *given, **options)
        raise Taken
    parser.parse_args = parse_args

ending(reframe_argparse.ArgumentParser)
plain = argparse.ArgumentParser.parse_args

def parse_args(self, *given, **options):
    plain(self, *given, **options)
    raise Taken

def invoke(self, context):
    sys.exit()

TyperCommand.invoke = invoke
answers = []
for words in json.load(sys.stdin):
    sys.argv, said = list(words), io.StringIO()
    sys.path.insert(0, os.path.dirname(words[0]))
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            if words[0] == "reframe":
                argparse.ArgumentParser.parse_args = plain
                cli.main()
            argparse.ArgumentParser.parse_args = parse_args
            if words[0] == "ci/fuzz":
                runpy.run_module("tests.fuzz", run_name="__main__")
            else:
                runpy.run_path(words[0], run_name="__main__")
        answers.append("it does not end where its options are read")
    except Taken:
        answers.append("")
    except SystemExit as end:
        answers.append(said.getvalue()[-300:] if end.code else "")
    del sys.path[0]
with open("answers.json", "w") as file:
    json.dump(answers, file)
"""


def read_in_python(lines: list[tuple[str, ...]], directory: Path) -> dict[str, str]:
    """What scripts in Python and ReFrame say against lines that they read; empty: nothing."""
    done = subprocess.run(
        [sys.executable, "-c", READ.replace("answers.json", str(directory / "answers.json"))],
        input=json.dumps(lines),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads((directory / "answers.json").read_text())
    return {" ".join(words): why for words, why in zip(lines, answers, strict=True) if why}


def read_in_bash(lines: list[tuple[str, ...]], directory: Path) -> dict[str, str]:
    """What scripts in bash say against lines, cut after the loop that reads the options."""
    shutil.copytree(ROOT / "ci", directory / "ci", dirs_exist_ok=True)
    (directory / "setup-env.sh").touch()
    wrong = {}
    for name, *words in lines:
        script = directory / name
        head, loop, rest = (ROOT / name).read_text().partition("while (($#)); do\n")
        body, end, _ = rest.partition("\ndone\n")
        assert loop, f"{name} reads no options"
        assert end, f"{name} reads no options"
        script.write_text(head + loop + body + end + "exit 0\n")
        done = subprocess.run(["bash", script, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            wrong[" ".join([name, *words])] = done.stderr
    return wrong


def is_python(name: str) -> bool:
    return name in ("reframe", "ci/fuzz") or "python" in (ROOT / name).read_text()[:40]


HANDED = {
    "bin/nightly.sh": ("fabricheck", "nightly"),
    "bin/acceptance.sh": ("fabricheck", "accept", "--campaign"),
}


def scripts() -> list[tuple[str, ...]]:
    return [words for words in COMMANDS if re.match(r"(bin|ci|lab)/", words[0])]


def test_lines_are_found() -> None:
    assert sum(words[0] == "make" for words in COMMANDS) >= 6
    assert sum(words[0] in PROGRAMS for words in COMMANDS) >= 20
    assert sum(words[0] == "reframe" for words in COMMANDS) >= 8
    assert len(scripts()) >= 15


@pytest.mark.integration
def test_scripts_in_python_and_reframe_take_their_lines(tmp_path: Path) -> None:
    lines = [each for each in COMMANDS if each[0] == "reframe"]
    lines += [each for each in scripts() if is_python(each[0])]
    wrong = [("lab/faults.py", "--nonsense"), ("lab/simulate", "night", "--nonsense"),
             ("reframe", "--nonsense"), ("ci/fuzz", "--nonsense")]  # fmt: skip
    assert read_in_python([*lines, *wrong], tmp_path).keys() == set(map(" ".join, wrong))


@pytest.mark.integration
def test_scripts_in_bash_take_their_lines(tmp_path: Path) -> None:
    lines = [e for e in scripts() if not is_python(e[0]) and e[0] not in (UV, *HANDED)]
    wrong = [("ci/setup", "--nonsense"), ("ci/spack-bootstrap", "--nonsense")]
    assert read_in_bash([*lines, *wrong], tmp_path).keys() == set(map(" ".join, wrong))


def test_what_a_script_hands_on_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fabricheck"])
    lines = [(*HANDED[name], *words) for name, *words in scripts() if name in HANDED]
    lines += [
        ("fabricheck", words[1], *word.removeprefix("ARGS=").split())
        for words in COMMANDS
        for word in words
        if words[0] == "make" and word.startswith("ARGS=--")
    ]
    assert len(lines) >= 2
    assert {" ".join(words): why for words in lines if (why := refused(words))} == {}


@pytest.mark.integration
def test_make_knows_its_targets_and_variables() -> None:
    lines = [words[1:] for words in COMMANDS if words[0] == "make"]
    variables = set(re.findall(r"^(\w+) \?=", text_of("Makefile"), re.MULTILINE))
    given = {word.partition("=")[0] for words in lines for word in words if "=" in word}
    assert given <= variables
    targets = sorted({word for words in lines for word in words if "=" not in word})

    def says(*names: str) -> int:
        return subprocess.run(
            ["make", "--dry-run", *names], cwd=ROOT, capture_output=True, check=False
        ).returncode

    assert says(*targets) == 0
    assert says("nonsense") == 2


@pytest.mark.integration
@pytest.mark.parametrize("line", sorted(WHOLE))
def test_what_is_quick_is_run(line: tuple[str, ...]) -> None:
    assert line in COMMANDS
    done = subprocess.run(
        [sys.executable, *line], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def declared(program: str) -> set[str]:
    """The options that a program of ours declares, with their dashes."""
    found = {"--help", "-h"}
    for folder in (program, "common"):
        for path in sorted((ROOT / "src" / "bench" / folder).glob("*.cpp")):
            for names in re.findall(r'table(?:\.\w+\(|,)\s*"([\w,-]+)', path.read_text()):
                found |= {f"--{name}" if name[1:] else f"-{name}" for name in names.split(",")}
    return found


def test_programs_have_the_options_of_their_lines() -> None:
    known = {program: declared(program) for program in PROGRAMS}
    wrong = [
        f"{words[0]} {word}"
        for words in COMMANDS
        if words[0] in PROGRAMS
        for word in words[1:]
        if (option := re.match(r"--[a-z-]+|-[a-zA-Z]", word)) and option[0] not in known[words[0]]
    ]
    assert wrong == []
    assert "--nonsense" not in known["rdma_stream"]


def test_tags_and_modes_of_the_lines_exist() -> None:
    text = "".join(text_of(name) for name in FILES if re.match(r"checks/|src/fabricheck/", name))
    for words in COMMANDS:
        if words[0] == "reframe":
            line = " ".join(words)
            for tag in re.findall(r"(?:--tag=|--mode=|-t )\^?([\w-]+)", line):
                assert f'"{tag}"' in text, line


ENVIRONMENT = re.compile(r"\bFABRICHECK_[A-Z_]+\b")
READERS = re.compile(r"(src|bin|ci|lab|checks|tests)/|Makefile|setup|reframe-config")


def test_variables_of_the_environment_are_read_by_something() -> None:
    named = {name for page in NAMES for name in ENVIRONMENT.findall(text_of(page))}
    read = {
        name
        for file in FILES
        if READERS.match(file) and not file.endswith(".md") and "test_docs" not in file
        for name in ENVIRONMENT.findall(text_of(file))
    }
    assert len(named) > 10
    assert named - read == set()


PLACE = re.compile(
    r"(?<![\w./-])((?:bin|ci|lab|checks|src/(?:fabricheck|bench|testbed)|tests|docs)/[\w./*{},-]*[\w*}])"
)


def places(text: str) -> set[str]:
    """Files of the suite that a page names in its commands and its code."""
    code = [block for _, block in blocks(text)]
    code += re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S))
    return {place for each in code for place in PLACE.findall(each)}


def is_there(place: str) -> bool:
    braces = re.match(r"(.*)\{(.*)\}(.*)", place)
    each = [braces[1] + part + braces[3] for part in braces[2].split(",")] if braces else [place]
    return all(any(ROOT.glob(name)) for name in each)


def test_files_that_the_pages_name_are_there() -> None:
    named = {(page, place) for page in NAMES for place in places(text_of(page))}
    assert len(named) > 50
    assert sorted(f"{page}: {place}" for page, place in named if not is_there(place)) == []
    assert not is_there("ci/nonsense.sh")
