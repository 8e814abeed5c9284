"""The command ``testbed``, and ``python -m fabricheck_testbed`` where it is not on PATH."""

import sys
from importlib.metadata import version
from typing import NoReturn

from fabricheck_testbed.door import OWN
from fabricheck_testbed.errors import EXIT_BAD_INPUT, TestbedError


def main() -> NoReturn:
    """Run the command line; a problem is one sentence, and exit code 2."""
    try:
        if (request := OWN.request(sys.argv[1:])) is not None:
            sys.exit(request.run())
        if sys.argv[1:] == ["--version"]:
            print(f"testbed {version('fabricheck-testbed')}")  # noqa: T201
            sys.exit(0)
        from fabricheck_testbed.cli import application

        application(OWN)(prog_name=OWN.command)
        sys.exit(0)
    except (TestbedError, OSError) as error:
        print(f"testbed: {' '.join(str(error).split())}", file=sys.stderr)  # noqa: T201
        sys.exit(EXIT_BAD_INPUT)


if __name__ == "__main__":
    main()
