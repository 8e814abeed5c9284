"""How long a benchmark may take at each size."""

_MEGA = 1_000_000
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
