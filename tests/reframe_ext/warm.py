"""Starts of ReFrame that share its imports: one process makes them, and forks for each start.

Imports take half of the CPU time of a short run. A test of the start itself, or of other sources,
starts ReFrame as a process of its own.
"""

import atexit
import functools
import gc
import json
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

# For dry runs: not every value of every case in the log, no pause between cases; nothing runs, so
# there is nothing to wait for.
QUICKLY = {"RFM_PERF_INFO_LEVEL": "debug2", "RFM_POLL_RATE_MAX": "1000"}
SERIALLY = "--exec-policy=serial"

# What the imports read.
_READ = ("PYTHONPATH", "FABRICHECK_BENCHMARKS")


def run(
    words: Sequence[str | Path], place: Path, variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """ReFrame with these words, in a directory and with these variables alone."""
    if any(variables.get(name) != os.environ.get(name) for name in _READ):
        raise ValueError(f"expected a start with the {_READ} of the tests, found another")
    with tempfile.TemporaryDirectory() as kept:
        files = [str(Path(kept) / name) for name in ("stdout", "stderr")]
        process = _process()
        assert process.stdin
        assert process.stdout
        request = [["reframe", *map(str, words)], str(place), dict(variables), files]
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        code = int(process.stdout.readline())
        return subprocess.CompletedProcess(
            ["reframe", *words], code, *(Path(each).read_text() for each in files)
        )


@functools.cache
def _process() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        # -P: this directory is no place for imports.
        [sys.executable, "-P", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    # It ends where its input does.
    atexit.register(process.communicate)
    return process


def _start(words: list[str], place: str, variables: dict[str, str], files: list[str]) -> None:
    from reframe.frontend import cli

    _hasten()
    for number, name in enumerate([os.devnull, *files]):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT, 0o600), number)
    os.chdir(place)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv[:] = words
    tempfile.tempdir = None
    code: object = 1
    try:
        code = cli.main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


def _hasten() -> None:
    """Spare what ReFrame does for each case, and no test looks at.

    It indents its JSON, which Python's quick encoder cannot, asks srun for its version, checks its
    own schema, and looks for the caller of each deprecated name even where it suppresses warnings.
    """
    from jsonschema import Draft7Validator
    from reframe.core import fields
    from reframe.core.warnings import ReframeDeprecationWarning
    from reframe.utility import jsonext, osext

    dumps, run_command = jsonext.dumps, osext.run_command
    asked: list[subprocess.CompletedProcess[str]] = []

    def dump(content: object, file: TextIO, **_: object) -> None:
        file.write(dumps(content))

    def once(command: str, *rest: object, **options: object) -> object:
        if command != "srun --version":
            return run_command(command, *rest, **options)
        asked[:] = asked or [run_command(command, *rest, **options)]
        return asked[0]

    warn = fields.user_deprecation_warning

    def unless_suppressed(*words: str) -> None:
        if warnings.filters[0][:3] != ("ignore", None, ReframeDeprecationWarning):
            warn(*words)

    jsonext.dump, osext.run_command = dump, once
    fields.user_deprecation_warning = unless_suppressed
    Draft7Validator.check_schema = lambda *_: None
    # All cases stay to the end: there is little to collect.
    gc.set_threshold(100_000)


def _serve() -> None:
    import fabricheck.reframe_ext.case
    import fabricheck.reframe_ext.config
    import fabricheck.reframe_ext.pair_health
    import fabricheck.reframe_ext.recorder
    import fabricheck.reframe_ext.surveys  # noqa: F401

    gc.freeze()  # a fork copies no page for what the imports made
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _start(*json.loads(line))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
