"""The one error that users of a testbed see."""

from typing import Final

EXIT_BAD_INPUT: Final = 2


class TestbedError(Exception):
    """A problem that the user can act on.

    The message is one sentence that says what was expected, what was found, where, and what to do.
    """

    # The name begins like a pytest class; it is none.
    __test__ = False
    exit_code = EXIT_BAD_INPUT
