"""The limits that counters are held to, where the site file gives no others."""

from collections.abc import Mapping
from types import MappingProxyType

from fabricheck.fabric.model import Band, Measure

_SEED = "the ECN bands of the MPI AI cluster benchmark: good below 100/s, heavy above 500/s"
_OWN = "our choice"
_SOFT = "our choice, from runs over Soft-RoCE: clean up to 0.12 %, with 2 % loss 0.75 % and more"

BANDS: Mapping[str, Band] = MappingProxyType(
    {
        "ecn": Band(Measure.RATE, 100, 500, _SEED),
        "ecn_share": Band(Measure.RATIO, 0.01, 0.05, _OWN),
        "pfc": Band(Measure.RATE, 100, 500, f"{_OWN}: a pause says what a mark says"),
        "pause": Band(Measure.PAUSED, 0.01, 0.1, _OWN),
        "loss": Band(Measure.RATIO, 1e-4, 1e-3, f"{_OWN}: a lossless fabric loses nothing"),
        "retry": Band(Measure.RATIO, 1e-3, 1e-2, _OWN),
        "rnr": Band(Measure.RATIO, 0.05, None, f"{_OWN}: the program is late, not the fabric"),
        "soft_loss": Band(Measure.RATIO, 0.0025, 0.005, _SOFT),
        "soft_retry": Band(
            Measure.RATIO, 0.05, None, "our choice, from runs over Soft-RoCE: clean up to 1.3 %"
        ),
        "fault": Band(Measure.RISE, None, 0, f"{_OWN}: never on a healthy link"),
        "bit_error": Band(Measure.RISE, 0, 100, _OWN),
        "notice": Band(Measure.RISE, 0, None, _OWN),
    }
)
"""Warning and critical limit of each band. ``fabric_health.bands`` in the extras of a partition
replaces them."""
