"""Generated inputs for every reader, command and store; what breaks the rule is kept.

examples:
    ci/fuzz                                       # 2,000 inputs
    ci/fuzz --inputs 100000                       # a night's
    ci/fuzz --generator sites --first 1234 --inputs 1 --separate
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from traceback import format_exception
from typing import Any

from fabricheck import provenance

_CHUNK = 500
_SUITE = provenance.SUITE
FAILED = _SUITE / "build" / "fuzz"
CORPUS = Path(__file__).parent / "corpus"


SHARES = {
    "outputs": 50, "judged": 6, "sites": 3, "reference_files": 5, "acceptances": 6, "perflogs": 5,
    "databases": 6, "stores": 2, "run_reports": 8, "acceptance_records": 5, "command_lines": 5,
    "nights": 4, "state_directories": 1,
}  # fmt: skip
"""Generators, and their shares of the inputs."""

_SUITE = provenance.SUITE
FAILED = _SUITE / "build" / "fuzz"
_CHUNK = 2000
_SEPARATE = 997
"""One of so many inputs runs in processes of its own, as operators start them."""

_MEMORY = 6 << 30
Job = tuple[str, int, int]
"""A generator, the number of its first input, and how many."""


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="ci/fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--inputs", type=int, default=2000, help="of all generators together")
    parser.add_argument("--generator", action="append", choices=list(SHARES), help="only this one")
    parser.add_argument("--first", type=int, default=0, help="number of each one's first input")
    parser.add_argument("--separate", action="store_true", help="each command in its own process")
    parser.add_argument("--worker", metavar="DIR", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        _work(json.loads(arguments.jobs), Path(arguments.worker), separate=arguments.separate)
        return
    chosen = {name: SHARES[name] for name in arguments.generator or SHARES}
    jobs = [
        (name, arguments.first, -(-arguments.inputs * share // sum(chosen.values())))
        for name, share in chosen.items()
    ]
    sys.exit(run(jobs, separate=arguments.separate))


def run(jobs: list[Job], *, separate: bool) -> int:
    """Run all jobs and tell of them; 1 if something broke the rule."""
    broken: list[str] = []
    parts = [
        (name, start, min(_CHUNK, first + count - start))
        for name, first, count in jobs
        for start in range(first, first + count, _CHUNK)
    ]
    while parts:
        size, chunk = 0, []
        while parts and size + parts[0][2] <= _CHUNK:
            chunk.append(parts.pop(0))
            size += chunk[-1][2]
        broken += _chunk(chunk, separate=separate)
    for name, _, count in jobs:
        found = [words for words in broken if words.startswith(f"{name} ")]
        _tell(f"{name:20} {count:7} inputs {len(found):5} broken")
    for words in broken:
        _tell(words)
    if broken:
        _tell(f"their files and commands: {FAILED}")
    return int(bool(broken))


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")


def _chunk(jobs: list[Job], *, separate: bool) -> list[str]:
    """Run some inputs in a process of their own, which one of them may end."""
    broken: list[str] = []
    with tempfile.TemporaryDirectory(prefix="fabricheck-fuzz-", dir=_memory()) as directory:
        root = Path(directory)
        while jobs:
            command = [
                sys.executable, "-m", "tests.fuzz", "--worker", str(root), "--jobs",
                json.dumps(jobs), *(["--separate"] if separate else []),
            ]  # fmt: skip
            ended = subprocess.run(command, cwd=_SUITE, check=False, stdin=subprocess.DEVNULL)
            broken += (root / "broken").read_text().splitlines()
            (root / "broken").write_text("")
            if ended.returncode == 0:
                break
            done, number = (int(word) for word in (root / "at").read_text().split())
            name, first, count = jobs[done]
            broken.append(f"{name} {number}: the process ended with {ended.returncode}")
            jobs = [(name, number + 1, first + count - number - 1), *jobs[done + 1 :]]
    return broken


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _work(jobs: list[Job], root: Path, *, separate: bool) -> None:
    """Run some inputs in this process."""
    (root / "broken").touch()
    # What eats all memory must not take it from others.
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    prepare(root)
    from tests.fuzz.place import Place, cleared

    for done, (name, first, count) in enumerate(jobs):
        generator = _generator(name)
        for number in range(first, first + count):
            (root / "at").write_text(f"{done} {number}")
            place = Place(
                cleared(root / "place"), separate=separate or number % _SEPARATE == _SEPARATE - 1
            )
            try:
                generator(Random(f"{name}-{number}"), place)
            except Exception as error:
                _keep(f"{name} {number}", place.inside, place.commands, error, root)


def _keep(name: str, inside: Path, commands: list[list[str]], error: Exception, root: Path) -> None:
    """Keep what an input was, so that it can be looked at and become part of the corpus."""
    kept = FAILED / name.replace(" ", "-")
    shutil.rmtree(kept, ignore_errors=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(inside, kept, symlinks=True)
    (kept / "commands.json").write_text(json.dumps(commands, indent=1) + "\n")
    words = str(error) if type(error).__name__ == "Broken" else "".join(format_exception(error))
    (kept / "words.txt").write_text(words, errors="backslashreplace")
    with (root / "broken").open("a", errors="backslashreplace") as file:
        file.write(f"{name}: {' '.join(words.split())[-300:]}\n")


def prepare(root: Path) -> None:
    """Give this process a suite that is a copy, and directories that vanish with the root."""
    suite = root / "suite"
    if not suite.exists():
        for part in ("sites", "references"):
            shutil.copytree(_SUITE / part, suite / part)
        for part in ("perflogs", "reports"):
            (suite / part).mkdir()
    # Commands take their defaults from here when they are imported, which is after this.
    provenance.SUITE = suite
    for name in [name for name in os.environ if name.startswith(("FABRICHECK_", "RFM_"))]:
        del os.environ[name]
    os.environ.update(HOME=str(root), TMPDIR=str(root), FABRICHECK_ROOT=str(suite), COLUMNS="120")
    tempfile.tempdir = str(root)


def _generator(name: str) -> Callable[[Random, Any], None]:
    from tests.fuzz import lines, outputs, records, settings

    for module in (outputs, settings, records, lines):
        if hasattr(module, name):
            found: Callable[[Random, Any], None] = getattr(module, name)
            return found
    raise LookupError(name)


if __name__ == "__main__":
    main()
