"""Benchmarks: one folder for each program, and what they have in common.

The folders of the suite lie here; a directory in ``FABRICHECK_BENCHMARKS`` (several with ``:``
between them) adds its own. ``registry`` finds them.
"""

import os

__path__ += [each for each in os.environ.get("FABRICHECK_BENCHMARKS", "").split(os.pathsep) if each]
