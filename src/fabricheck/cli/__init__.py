"""The command line of fabricheck. Each command lives in a module of its own name."""

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Final

from fabricheck.cli.output import discard, prepare, visible
from fabricheck.errors import (
    EXIT_BAD_INPUT,
    EXIT_FAULT,
    EXTRAS,
    FabricheckError,
    Terminated,
    lacking,
)
from fabricheck.provenance import located

_ADVICE: Final = {
    errno.EACCES: "get permission, or use a place of your own",
    errno.EPERM: "get permission, or use a place of your own",
    errno.EROFS: "use a place that can be written",
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.ENAMETOOLONG: "use a shorter name",
    errno.ELOOP: "take the loop of symbolic links away",
}
_INTERRUPTED: Final = "interrupted", signal.SIGINT
_TERMINATED: Final = "terminated", signal.SIGTERM
_WORDS: Final = 3
"""Most words before ``--version``: none, a command and its subcommand."""
_MOST: Final = 300
"""Characters of a foreign message in a sentence."""


def main() -> None:
    """Run the command line: ends with a verdict, or with one sentence and what it means.

    Exit code 2 is for what the user can mend, 70 (EX_SOFTWARE of sysexits.h) for a fault of
    fabricheck, whose traceback goes to a log; so 1 and 3 are verdicts and nothing else.
    """
    sys.exit(guarded(lambda: _dispatch(sys.argv[1:])))


def guarded(program: Callable[[], None]) -> int:
    """Run a program of ours; its exit code, after a sentence if it is neither 0 nor a verdict."""
    try:
        try:
            prepare()
            program()
            code = 0
        except SystemExit as ended:
            code = _code(ended)
        sys.stdout.flush()
    # A panic of Polars is no Exception, and must not look like a verdict either.
    except BaseException as error:
        sentence, code = _meaning(error)
        with contextlib.suppress(OSError, ValueError):
            line = visible(located(" ".join(sentence.splitlines())))
            print(f"fabricheck: {line}", file=sys.stderr)  # noqa: T201
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        # With no standard error nobody listens, and the code stands.
        discard(2)
    return code


def _code(ended: SystemExit) -> int:
    """The code with which a program ended itself."""
    # Typer calls the end of a file an abort, whose code would be that of a verdict, and is silent
    # about an interrupt.
    before = ended.__context__
    if before is not None and type(before).__name__ == "Abort":
        raise before.__cause__ or before
    if before is not None and isinstance(before.__cause__, KeyboardInterrupt):
        raise before.__cause__
    if isinstance(ended.code, str):
        raise FabricheckError(ended.code)
    return ended.code or 0


def _meaning(error: BaseException) -> tuple[str, int]:
    """What is said of an error, and the exit code."""
    # So does pathlib wrap a loop of symbolic links.
    if type(error) is RuntimeError and isinstance(error.__context__, OSError):
        error = error.__context__
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in EXTRAS:
        error = lacking(str(error.name))
    # Errors that users can act on carry it; those of the testbed, which need not be installed, too.
    if getattr(error, "exit_code", None) == EXIT_BAD_INPUT:
        code = getattr(error, "code", "")
        return f"{error} [{code}]" if code else str(error), EXIT_BAD_INPUT
    if isinstance(error, OSError) and not isinstance(error, ChildProcessError | ProcessLookupError):
        return _of_system(error), EXIT_BAD_INPUT
    if isinstance(error, MemoryError):
        return "expected more memory, found no more: give the command more", EXIT_BAD_INPUT
    if isinstance(error, KeyboardInterrupt):
        word, number = _TERMINATED if isinstance(error, Terminated) else _INTERRUPTED
        return ": ".join((word, *map(str, error.args))), 128 + number
    return _of_fault(error), EXIT_FAULT


def _of_system(error: OSError) -> str:
    """What the operating system refused."""
    try:
        os.getcwd()  # noqa: PTH109
    except OSError as gone:
        return f"expected a working directory, found: {gone.strerror}: change to one that exists"
    found = error.strerror or str(error) or type(error).__name__
    advice = _ADVICE.get(error.errno or 0, "correct that and run the command again")
    what = "read and write" if error.filename is None else f"use {error.filename}"
    return f"expected to {what}, found: {found}: {advice}"


def _of_fault(error: BaseException) -> str:
    """A fault of ours, whose traceback is kept where it can be found."""
    import tempfile
    import traceback

    words = " ".join(str(error).split())[:_MOST]
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="fabricheck-", suffix=".log", delete=False, errors="backslashreplace"
        ) as log:
            traceback.print_exception(error, file=log)
    except OSError as unwritten:
        where = f"no log could be written ({unwritten.strerror})"
    else:
        where = f"{log.name} has the traceback"
    return (
        f"this is a fault of fabricheck and no verdict: {type(error).__name__}: {words}; {where}: "
        "report it with that and the command to those who maintain this checkout"
    )


def _dispatch(arguments: Sequence[str]) -> None:
    # Imports wait until it is clear what is wanted: "testbed exec" is called for every command
    # that runs in a node, and must not pay for the others.
    if arguments[:2] == ["testbed", "exec"]:
        from fabricheck.cli.door import DOOR

        if (request := DOOR.request(list(arguments[1:]))) is not None:
            sys.exit(request.run())
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise FabricheckError(
                f"FC2501 expected arguments in {sys.getfilesystemencoding()}, found {argument!r}: "
                "rename what it names, or set the locale that it is in"
            ) from error
    from fabricheck.cli import application

    # Of every command, as people ask for it behind the one that they use.
    *before, last = ["", *arguments]
    if last == "--version" and before[1:2] != ["testbed"] and len(before) <= _WORDS:
        arguments = [last]
        sys.argv[1:] = arguments
    # A shell that completes a word gives the line so far in the environment.
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    words = line.split()[1:] if "_FABRICHECK_COMPLETE" in os.environ else arguments
    application.build([*words, "--help"][:1])()
