"""``fabricheck testbed``: the package ``testbed``, as a part of the suite."""

from fabricheck.cli.door import DOOR
from testbed.cli import application

app = application(DOOR)
