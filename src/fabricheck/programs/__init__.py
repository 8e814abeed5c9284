"""Programs that measure: one folder for each, with its table, readers, launch, judge and page.

The folders of the suite lie here, and those of ``FABRICHECK_BENCHMARKS`` are added;
``measures.registry`` loads them.
"""

from fabricheck.measures import ADDED

__path__ += ADDED
