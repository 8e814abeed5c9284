"""How long a benchmark may take: at each size, and by leaving sizes out."""

from collections.abc import Mapping, Sequence

TYPICAL: Mapping[str, float] = {"latency": 2.0, "bandwidth": 10_000.0}
"""What an empty message usually takes, in us, and what a large one usually reaches, in MB/s."""

_MEGA = 1_000_000
_DENSE_ABOVE = 8
_FEWEST_ITERATIONS = 10
_MOST_ITERATIONS = 10_000


def iterations(size: int, budget: float, typical: Mapping[str, float]) -> int:
    """How many round trips fit into a time budget, for programs that know a count but no time.

    Args:
        size: message size in bytes.
        budget: seconds.
        typical: what a site gives of ``TYPICAL``.
    """
    usual = {**TYPICAL, **typical}
    round_trip = 2 * (usual["latency"] + size / usual["bandwidth"])
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
