"""What all know of a measurement: metrics, benchmarks, curves, and the registry of programs.

A directory in ``FABRICHECK_BENCHMARKS`` (several with ``:`` between them) adds folders of programs,
with their checks, to those of the suite.
"""

import os

ADDED = [path for path in os.environ.get("FABRICHECK_BENCHMARKS", "").split(os.pathsep) if path]
