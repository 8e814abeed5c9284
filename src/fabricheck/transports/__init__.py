"""How data travels: one table of settings and proofs for each MPI family and transport."""

from fabricheck.transports.table import (
    MPI_FAMILIES,
    TRANSPORTS,
    Placement,
    Transport,
    applied_settings,
    families,
    find,
    placements,
    settings,
    ucx_settings,
)

__all__ = [
    "MPI_FAMILIES",
    "TRANSPORTS",
    "Placement",
    "Transport",
    "applied_settings",
    "families",
    "find",
    "placements",
    "settings",
    "ucx_settings",
]
