"""Values that stand in a perflog and in a results database: one value, with what both say of it.

The lines of other suites' perflogs hold what the site's format names, and that may be neither the
job nor the nodes nor the ranks, which the database knows.
"""

from typing import Final

import polars as pl

from fabricheck.history.frame import KEY, PROVENANCE
from fabricheck.history.segments import IDENTITY, Numbering

_COUNTS: Final = ("num_nodes", "ranks")
"""Numbers of a series' key that are 0 where a record does not say them."""
_NUMBERS: Final = ("reference", "lower", "upper", "warning_lower", "warning_upper", "repeat")
_TEXTS: Final = ("level", "result", "finding")


def named_as(values: pl.DataFrame, logged: pl.DataFrame, series: pl.DataFrame) -> pl.DataFrame:
    """Those values of a results database that a perflog has, under the perflog's identity.

    Args:
        values: of a results database.
        logged: ``IDENTITY`` of values of perflogs.
        series: the dimension of series.
    """
    same = pl.struct(name for name in KEY if name not in _COUNTS).rank("dense")
    kin = series.select("series_id", *_COUNTS, same.alias("kin"))
    stored = values.join(kin, on="series_id", maintain_order="left")
    known = logged.select(IDENTITY).join(kin, on="series_id")
    return (
        stored.join(known, on=("kin", "time"), suffix="_logged", maintain_order="left")
        .filter(
            (pl.col("job_logged") == "") | (pl.col("job_logged") == pl.col("job")),
            *(
                (pl.col(f"{name}_logged") == 0) | (pl.col(f"{name}_logged") == pl.col(name))
                for name in _COUNTS
            ),
        )
        .with_columns(
            series_id="series_id_logged",
            job="job_logged",
            told_id="series_id",
            told_job="job",
        )
    )


def fuller(rows: pl.DataFrame, told: pl.DataFrame, numbers: dict[str, Numbering]) -> pl.DataFrame:
    """The rows of perflogs, with what a results database tells where they say nothing.

    Args:
        rows: as in a segment.
        told: likewise, of a results database.
        numbers: the dimensions.
    """
    both = rows.join(told, on=IDENTITY, how="left", suffix="_told", maintain_order="left")
    empty = {name: pl.col(name).fill_null("") == "" for name in _TEXTS}
    session = numbers["session"].known
    nameless = session.filter(pl.col("session") == "")["session_id"]
    unnamed = (
        pl.col("session_id").is_in(nameless.implode()) & pl.col("session_id_told").is_not_null()
    )
    both = both.with_columns(
        *(pl.coalesce(name, f"{name}_told") for name in _NUMBERS),
        *(
            pl.when(empty[name])
            .then(pl.coalesce(f"{name}_told", name))
            .otherwise(pl.col(name))
            .alias(name)
            for name in _TEXTS
        ),
        pl.when(unnamed)
        .then(pl.col("session_id_told"))
        .otherwise(pl.col("session_id"))
        .alias("session_id"),
    )
    return _with_provenance(both, numbers["provenance"]).select(rows.columns)


def _with_provenance(both: pl.DataFrame, numbering: Numbering) -> pl.DataFrame:
    """The rows with a provenance that says what either of two says."""
    pairs = both.select("provenance_id", "provenance_id_told").unique().drop_nulls()
    said = pairs.join(numbering.known, on="provenance_id").join(
        numbering.known, left_on="provenance_id_told", right_on="provenance_id", suffix="_told"
    )
    said = said.with_columns(
        pl.when(pl.col(name).fill_null("") == "")
        .then(pl.col(f"{name}_told"))
        .otherwise(pl.col(name))
        .alias(name)
        for name in PROVENANCE
    ).rename({"provenance_id": "before"})
    found, _ = numbering.number(said)
    found = found.select(
        pl.col("before").alias("provenance_id"),
        "provenance_id_told",
        pl.col("provenance_id").alias("both"),
    )
    return both.join(
        found, on=("provenance_id", "provenance_id_told"), how="left", maintain_order="left"
    ).with_columns(pl.coalesce("both", "provenance_id").alias("provenance_id"))
