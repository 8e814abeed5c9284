"""Many series are tested each night: how many of the alarms may be false?"""

import numpy as np

from fabricheck.trend.robust import Array


def adjusted(p: Array) -> Array:
    """p-values after Benjamini and Hochberg (1995): raise what is at most the rate, e.g. 0.05.

    Of what is so raised, at most that share is false in the mean. Series that were tested and are
    quiet count too, so ``p`` must hold all of them.
    """
    count = len(p)
    order = np.argsort(p)
    scaled = p[order] * count / np.arange(1, count + 1)
    result = np.empty(count)
    result[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return result
