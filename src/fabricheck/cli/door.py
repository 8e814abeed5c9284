"""The testbed of the suite: the package's command with a name and a state directory of ours.

Kept free of heavy imports: ``fabricheck testbed exec`` passes here.
"""

from typing import Any, Final

from fabricheck.errors import optional

DOOR: Final[Any] = optional("fabricheck_testbed.door", "testbed").Door(
    "fabricheck testbed", "FABRICHECK_TESTBED", "fabricheck/testbed"
)
