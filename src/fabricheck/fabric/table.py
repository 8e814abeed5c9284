"""The one table of counters: what each means, how it is judged, and who says so.

Nothing else in the repository knows a counter's name, but for the witnesses of a transport.
"""

from functools import cache

from fabricheck.fabric.model import Counter, Place
from fabricheck.fabric.rows_bnxt import BNXT
from fabricheck.fabric.rows_common import COMMON, RXE
from fabricheck.fabric.rows_irdma import IRDMA
from fabricheck.fabric.rows_mlx5 import MLX5

TABLE: tuple[Counter, ...] = tuple(
    counter for rows in (*COMMON, *MLX5, *BNXT, *IRDMA, *RXE) for counter in rows.counters()
)

KERNEL_DRIVERS = {
    "mlx5_core": "mlx5",
    "bnxt_en": "bnxt_re",
    "ice": "irdma",
    "i40e": "irdma",
    "rdma_rxe": "rxe",
}
"""The driver of the table for each kernel driver that an adapter is bound to."""


@cache
def find(kernel_driver: str, place: Place, name: str) -> Counter | None:
    """The row of a counter; ``None`` if the table doesn't know it."""
    for counter in rows_of(kernel_driver):
        if counter.place is place and counter.fits(name):
            return counter
    return None


@cache
def rows_of(kernel_driver: str) -> tuple[Counter, ...]:
    """The rows of a kernel driver, and those that every driver shares."""
    driver = KERNEL_DRIVERS.get(kernel_driver)
    return tuple(counter for counter in TABLE if counter.driver in ("any", driver))
