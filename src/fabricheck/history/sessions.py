"""Sessions that no record names, as in the perflogs of other suites: told by time and job."""

from datetime import timedelta
from typing import Final

import polars as pl

PAUSE: Final = timedelta(hours=3)
"""Values without session belong to one session if they lie no further apart than this."""

BY_TIME: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"
"""Names that such sessions get: when they began."""


def sessions_by_time(values: pl.DataFrame) -> pl.DataFrame:
    """The session of each moment at which a system measured something.

    A session ends where nothing was measured for hours, and where a case is measured again by
    another job: suites run hourly, too. A repetition that ReFrame was asked for is no other case.

    Args:
        values: with ``system``, ``series_id``, ``time``, ``job`` and ``repeat``.

    Returns:
        ``system``, ``time`` and ``place``, the session's number from 0, oldest first.
    """
    events = values.with_columns(
        # Of a record without jobs, each time is one.
        pl.when(pl.col("job") != "")
        .then(pl.col("job"))
        .otherwise(pl.col("time").cast(pl.String))
        .alias("job"),
        pl.struct("system", "time").rank("dense").alias("moment"),
    )
    # The last moment before, at which another job had measured the same.
    course = events.sort("moment").select(
        *("system", "time", "moment"),
        pl.when(pl.col("job") != pl.col("job").shift())
        .then(pl.col("moment").shift())
        .forward_fill()
        .over("series_id", "repeat")
        .alias("before"),
    )
    moments = course.group_by("moment", "system", "time").agg(pl.col("before").max()).sort("moment")
    begins = moments.select(
        pl.col("moment"),
        pl.col("before").fill_null(0),
        (
            (pl.col("system") != pl.col("system").shift()) | (pl.col("time").diff() > PAUSE)
        ).fill_null(True),  # noqa: FBT003
    )
    places, place, first = [], -1, 0
    for moment, before, begin in begins.iter_rows():
        if begin or before >= first:
            place, first = place + 1, moment
        places.append(place)
    return moments.select("system", "time", pl.Series("place", places, dtype=pl.UInt32))
