"""Starting one of the package's entry points in a small Python of its own."""

import sys
from pathlib import Path

_PACKAGE_PARENT = str(Path(__file__).resolve().parents[1])


def python_command(module: str, *arguments: str) -> list[str]:
    """A command that runs ``main()`` of ``fabricheck_testbed.<module>``.

    Isolated and without site-packages: it starts in a few milliseconds, and the caller's
    PYTHON* variables reach only the command that it runs in the end.
    """
    code = (
        f"import sys; sys.path.insert(0, {_PACKAGE_PARENT!r}); "
        f"from fabricheck_testbed.{module} import main; main()"
    )
    return [sys.executable, "-I", "-S", "-c", code, *arguments]
