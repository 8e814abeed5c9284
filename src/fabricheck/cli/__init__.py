"""The command line of fabricheck. Each command lives in a module of its own name."""

import sys

from fabricheck.errors import FabricheckError


def main() -> None:
    """Run the command line; problems that the user can act on end with one sentence."""
    # Imports wait until it is clear what is wanted: "testbed exec" is called for every command
    # that runs in a node, and must not pay for the others.
    try:
        _dispatch(sys.argv[1:])
    except FabricheckError as error:
        print(f"fabricheck: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)


def _dispatch(arguments: list[str]) -> None:
    if arguments[:2] == ["testbed", "exec"]:
        from fabricheck.cli import testbed_exec  # noqa: PLC0415

        if (request := testbed_exec.parse(arguments[2:])) is not None:
            sys.exit(testbed_exec.run(request))
    from fabricheck.cli import application  # noqa: PLC0415

    application.build(arguments[:1])()
