"""The one way out: a verdict, or one sentence and a code that is none."""

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main
from tests.report import sample
from typer.testing import CliRunner

from fabricheck import cli
from fabricheck.cli.application import COMMANDS, PANELS, build
from fabricheck.cli.console import open_console
from fabricheck.cli.output import FORMAT, tell
from fabricheck.errors import FabricheckError
from fabricheck.measures.registry import CHECKS
from fabricheck.provenance import SUITE

PROGRAM = f"{sys.executable} -m fabricheck"
JUDGED = ("--references=r.yaml", "--system=s", "--environ=e", "--placement=tcp-2n")


def fail_with(error: BaseException | type[BaseException]) -> Callable[[], None]:
    def program() -> None:
        raise error

    return program


def end_of_file() -> None:
    """What a cut archive is, in a command of Typer's."""
    app = typer.Typer()
    app.command()(fail_with(EOFError("ended before the end-of-stream marker")))
    app([])


def interrupted() -> None:
    """What Ctrl-C is, in a command of Typer's."""
    app = typer.Typer()
    app.command()(fail_with(KeyboardInterrupt("ReFrame ended with exit code 1")))
    app([])


def looping(path: Path) -> None:
    path.symlink_to(path)
    path.resolve(strict=True)


@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        (lambda: None, 0, ""),
        (fail_with(SystemExit(1)), 1, ""),
        (fail_with(SystemExit(3)), 3, ""),
        (fail_with(SystemExit("no more")), 2, "no more"),
        (fail_with(FabricheckError("expected a, found b")), 2, "expected a, found b"),
        (fail_with(PermissionError(errno.EACCES, "Permission denied", "/x/.lock")), 2,
         "expected to use /x/.lock, found: Permission denied: get permission, or use a place"),
        (fail_with(OSError(errno.ENOSPC, "No space")), 2, "found: No space: make room"),
        (fail_with(MemoryError()), 2, "expected more memory"),
        (fail_with(KeyboardInterrupt), 130, "interrupted"),
        (fail_with(KeyError("x\n\x1b[2J")), 70, r"fault of fabricheck and no verdict: KeyError: "),
        (fail_with(ProcessLookupError(3, "No such process")), 70, "ProcessLookupError"),
        (fail_with(BaseException("panic")), 70, "no verdict: BaseException: panic"),
        (interrupted, 130, "interrupted: ReFrame ended with exit code 1"),
        (end_of_file, 70, "EOFError: ended before the end-of-stream marker"),
    ],
)  # fmt: skip
def test_what_is_no_verdict_is_one_sentence_with_a_code_of_its_own(
    program: Callable[[], None], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.guarded(program) == code
    error = capsys.readouterr().err
    assert said in error
    last = (error.splitlines() or [""])[-1]
    assert last.startswith("fabricheck: ") == bool(said)
    assert last.isprintable()
    if code == 70:
        log = Path(re.findall(r"\S+\.log", error)[0])
        assert "in program" in log.read_text()
        log.unlink()


def test_a_loop_of_links_is_the_users(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.guarded(lambda: looping(tmp_path / "link")) == 2
    assert "take the loop of symbolic links away" in capsys.readouterr().err


def test_without_a_place_for_the_log_the_sentence_still_comes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    assert cli.guarded(fail_with(KeyError("x"))) == 70
    assert "no log could be written (No such file or directory)" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("testbed status --state-dir none >/dev/full", "output, found: No space left on device"),
        ("testbed status --state-dir none >&-", "standard output, found: Bad file descriptor"),
        ("testbed status --state-dir none --json >&-", "output, found: Bad file descriptor"),
        ("testbed --help >/dev/full", "standard output, found: No space left on device"),
        ("parse - <&-", "found: Bad file descriptor"),
        ("report --perflogs $'caf\\xe9.json'", "expected arguments in utf-8, found 'caf"),
        ("report --perflogs '/x/[/red]'", "expected a record in /x/[/red], found no such"),
        ("report --perflogs $(printf 'a%.0s' {1..300})", "File name too long"),
        ("testbed exec --state-dir none n1 true", "no testbed runs in"),
    ],
)
def test_streams_and_names_that_cannot_be_used(command: str, said: str, tmp_path: Path) -> None:
    done = shell(command, tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert said in done.stderr


@pytest.mark.integration
def test_a_reader_that_has_enough_asks_for_no_words(tmp_path: Path) -> None:
    done = shell("testbed --help | true; exit ${PIPESTATUS[0]}", tmp_path)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_no_help_shows_a_type_of_python() -> None:
    def unnamed(command: Any, path: str) -> Iterator[str]:
        for name, each in getattr(command, "commands", {}).items():
            yield from unnamed(each, f"{path} {name}")
        for option in command.params:
            shown = option.metavar or getattr(option.type, "choices", None)
            if option.param_type_name == "option" and not (shown or option.is_flag):
                yield f"{path} {option.opts[-1]}"

    assert list(unnamed(typer.main.get_command(build([])), "fabricheck")) == []


def test_what_machines_get_is_an_object_with_its_format(capsys: pytest.CaptureFixture[str]) -> None:
    tell(["nothing"], {"rows": []}, machine=True)
    assert json.loads(capsys.readouterr().out) == {"format": FORMAT, "rows": []}


def test_only_one_place_writes_json_for_machines() -> None:
    modules = (SUITE / "src" / "fabricheck" / "cli").glob("*.py")
    assert [each.name for each in modules if "json.dump(" in each.read_text()] == ["output.py"]
    # A list would have no format; mypy refuses it where it has types.
    listed = re.compile(r"(tell\(.*, |write_json\()\[")
    modules = (SUITE / "src" / "fabricheck" / "cli").glob("*.py")
    assert [each.name for each in modules if listed.search(each.read_text())] == []


@pytest.mark.integration
@pytest.mark.parametrize("command", ["", "run", "history show"])
def test_it_tells_its_version(tmp_path: Path, command: str) -> None:
    done = shell(f"{command} --version", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"fabricheck \d+\.\d+\.\d+ \(.+\)\n", done.stdout)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("command", "slow"),
    [
        ("--help", ("fabricheck.cli.trend", "numpy")),
        ("trend --store no", ("scipy.stats", "scipy.optimize")),
    ],
)
def test_a_command_imports_no_more_than_it_needs(
    command: str, slow: tuple[str, str], tmp_path: Path
) -> None:
    done = shell(command, tmp_path, PYTHONPROFILEIMPORTTIME="1")
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "fabricheck.cli" in imported
    assert imported.isdisjoint(slow)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("fabricheck tre", {"trend"}),
        ("fabricheck trend --sin", {"--since"}),
        ("fabricheck judge --check ", set(CHECKS)),
        ("fabricheck judge --placement tcp-", {"tcp-2n", "tcp-4n", "tcp-8n", "tcp-16n"}),
        ("fabricheck run --system test", {"testbed"}),
        ("fabricheck nightly --benchmark gatherv_p", {"gatherv_persistent"}),
        ("fabricheck plan --transport rc_v", {"rc_verbs"}),
        ("fabricheck run --environ openmpi-", {"openmpi-spack"}),
    ],
)
def test_a_shell_completes_commands_options_and_choices(words: str, offered: set[str]) -> None:
    asked = {"_FABRICHECK_COMPLETE": "complete_bash", "COMP_WORDS": words}
    done = subprocess.run(
        [Path(sys.executable).with_name("fabricheck")],
        env={**os.environ, **asked, "COMP_CWORD": str(words.count(" "))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert set(done.stdout.split()) == offered


def test_the_help_has_each_command_in_one_panel() -> None:
    shown = CliRunner().invoke(build(["--help"]), ["--help"], terminal_width=200).stdout
    listed = re.findall(r"^│ ([a-z][a-z-]+) ", shown, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)
    assert re.findall(r"^╭─ ([A-Z][\w ]+) ─", shown, re.MULTILINE) == ["Options", *PANELS]


def test_every_command_has_examples() -> None:
    commands = [typer.main.get_command(build([]))]
    for command in commands:
        below = getattr(command, "commands", {})
        commands += [each for name, each in below.items() if name != "testbed" and not each.hidden]
        assert below or "Examples:" in (command.help or ""), command.name
    assert len(commands) > 30


@pytest.mark.integration
@pytest.mark.parametrize("command", ["report --perflogs none", "testbed --help"])
@pytest.mark.parametrize("streams", ["2>&- >/dev/full", "2>&- >&-", "2>/dev/full >/dev/full"])
def test_without_standard_error_the_code_stands(command: str, streams: str, tmp_path: Path) -> None:
    done = shell(f"{command} {streams}", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def shell(command: str, directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"{PROGRAM} {command}"],
        cwd=directory, env={**os.environ, **variables}, text=True, capture_output=True, check=False,
    )  # fmt: skip


@pytest.mark.integration
def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = subprocess.run(
        ["bash", "-c", f"cd gone && rmdir ../gone && {PROGRAM} metrics write x --reports y"],
        cwd=tmp_path, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("fabricheck: expected a working directory, found: No such file")


@pytest.mark.integration
def test_what_the_locale_lacks_is_written_as_its_number(tmp_path: Path) -> None:
    run = sample.write(sample.report("latency"), tmp_path / "\N{RIGHTWARDS ARROW}")
    done = shell(f"report --perflogs {run}", tmp_path, PYTHONIOENCODING="iso-8859-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\u2192" in done.stdout


def test_control_characters_of_a_file_do_not_act_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", terminal := io.StringIO())
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    open_console().print("a\x1b[8mb\x1b]0;title\x07\u202e", style="red")
    assert terminal.getvalue() == "\x1b[31ma␛[8mb␛]0;title\N{REPLACEMENT CHARACTER}\x1b[0m\n"


@pytest.mark.parametrize(
    "command",
    [
        ["parse"],
        [
            "judge",
            "--references",
            "r.yaml",
            "--system",
            "s",
            "--environ",
            "e",
            "--placement",
            "tcp-2n",
        ],
        ["accept", "--sign", "me", "--comment", "fine", "--record"],
    ],
    ids=lambda command: command[0],
)
def test_input_without_end_is_not_read_without_end(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("fabricheck.inputs.MOST", 1 << 16)
    monkeypatch.setattr(sys, "argv", ["fabricheck", *command, "/dev/zero"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert "File too large" in capsys.readouterr().err
