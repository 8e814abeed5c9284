"""How long a benchmark may take: at each size, and by leaving sizes out."""

from collections.abc import Sequence

_MEGA = 1_000_000
_DENSE_ABOVE = 8
_FEWEST_ITERATIONS = 10
_MOST_ITERATIONS = 10_000


def iterations(size: int, budget: float, latency: float = 2.0, bandwidth: float = 10_000.0) -> int:
    """How many round trips fit into a time budget, for programs that know a count but no time.

    Args:
        size: message size in bytes.
        budget: seconds.
        latency: what an empty message usually takes, in us.
        bandwidth: what a large one usually reaches, in MB/s.
    """
    round_trip = 2 * (latency + size / bandwidth)
    fitting = int(budget * _MEGA / round_trip)
    return min(_MOST_ITERATIONS, max(_FEWEST_ITERATIONS, fitting))


def thin(sizes: Sequence[int], step: int | None) -> tuple[int, ...]:
    """A sparse sweep, for systems where each size costs much: the ends, and from 8 B every step.

    Args:
        sizes: the whole sweep in bytes, rising.
        step: each size that is kept is so many times the one before; ``None`` keeps all.

    >>> thin((1, 2, 4, 8, 16, 32, 64, 128), 4)
    (1, 8, 32, 128)
    """
    if step is None:
        return tuple(sizes)
    kept = {sizes[0], sizes[-1]}
    size = _DENSE_ABOVE
    while size < sizes[-1]:
        kept.add(size)
        size *= step
    return tuple(size for size in sizes if size in kept)
