"""Benchmarks: one folder for each program, and what they have in common.

The folders of the suite lie here; a directory in ``FABRICHECK_BENCHMARKS`` (several with ``:``
between them) adds its own, with their checks. ``registry`` finds them.
"""

import os

ADDED = [each for each in os.environ.get("FABRICHECK_BENCHMARKS", "").split(os.pathsep) if each]
__path__ += ADDED
