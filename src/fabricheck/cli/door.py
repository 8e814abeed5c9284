"""The testbed of the suite: the package's command with a name and a state directory of ours.

Kept free of heavy imports: ``fabricheck testbed exec`` passes here.
"""

from typing import Final

from testbed.door import Door

DOOR: Final = Door("fabricheck testbed", "FABRICHECK_TESTBED", "fabricheck/testbed")
