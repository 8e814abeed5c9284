"""How data travels: one table of settings and proofs for each MPI family and transport."""

from fabricheck.transports.families import (
    MPIS,
    Choice,
    Statement,
    choice,
    families,
)
from fabricheck.transports.placement import Placement, placements
from fabricheck.transports.settings import (
    Ports,
    inside_nodes_too,
    interfaces,
    launcher_options,
    settings,
    ucx_settings,
)
from fabricheck.transports.table import TRANSPORTS, Transport, find

__all__ = [
    "MPIS",
    "TRANSPORTS",
    "Choice",
    "Placement",
    "Ports",
    "Statement",
    "Transport",
    "choice",
    "families",
    "find",
    "inside_nodes_too",
    "interfaces",
    "launcher_options",
    "placements",
    "settings",
    "ucx_settings",
]
