"""``fabricheck testbed``: the package ``testbed``, as a part of the suite."""

from fabricheck.cli.door import DOOR
from fabricheck.errors import optional

app = optional("fabricheck_testbed.cli", "testbed").application(DOOR)
