"""The one table of metrics: what each is called, its unit and labels, and what it says.

Names are as Prometheus asks for them (base units, ``_total`` for what only rises). Beside them
stands a closed list of the names of the MPI AI cluster benchmark, so that its dashboards go on
working; nothing is added to that list.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from fabricheck.fabric.model import Role


class Kind(StrEnum):
    """Type of a metric in the exposition format."""

    GAUGE = "gauge"
    COUNTER = "counter"
    UNKNOWN = "unknown"


class Source(StrEnum):
    """What a metric is read from."""

    EXPORTER = "exporter"
    RUN = "run"
    PORTS = "ports"
    STRESS = "stress"


@dataclass(frozen=True, slots=True)
class Family:
    """One row of the catalogue.

    Attributes:
        name: as a query writes it.
        kind: its type.
        unit: in words; empty for a number without one.
        labels: names of its labels, in the order in which a sample gives their values.
        source: what it is read from.
        meaning: what it says, the ``HELP`` of the exposition.
        same_as: for a name of the other benchmark, ours.
    """

    name: str
    kind: Kind
    unit: str
    labels: tuple[str, ...]
    source: Source
    meaning: str
    same_as: str = ""


class Sample(NamedTuple):
    """One value of a family, with the value of each of its labels."""

    family: Family
    labels: tuple[str, ...]
    value: float


def _rows(source: Source, *rows: tuple[str, Kind, str, tuple[str, ...], str]) -> Iterator[Family]:
    for name, kind, unit, labels, meaning in rows:
        yield Family(f"fabricheck_{name}", kind, unit, labels, source, meaning)


_GAUGE, _COUNTER, _UNKNOWN = Kind
_CASE = ("system", "partition", "environment", "benchmark", "placement")
_POINT = (*_CASE, "statistic", "size_bytes")
_PORT = ("node", "device", "port")
_BLOCK = ("name", "operation", "size_bytes", "nodes", "statistic")

CATALOG: tuple[Family, ...] = (
    *_rows(
        Source.EXPORTER,
        (
            "exporter_refresh_timestamp_seconds", _GAUGE, "s", (),
            "Unix time at which all that is served was read.",
        ),
        (
            "exporter_refresh_duration_seconds", _GAUGE, "s", (),
            "How long it took to read it.",
        ),
        (
            "exporter_source_up", _GAUGE, "", ("source",),
            "1 if the source could be read; its series are absent otherwise.",
        ),
    ),
    *_rows(
        Source.RUN,
        (
            "verdict_passed", _GAUGE, "", ("system",),
            "1 if the last run may be called good, as its exit code says.",
        ),
        ("run_timestamp_seconds", _GAUGE, "s", ("system",), "Unix time at which it ended."),
        ("cases", _GAUGE, "", ("system", "status"), "Cases and failed builds of the last run."),
        (
            "case_severity", _GAUGE, "", _CASE,
            "What became of a case of the last run: 0 is good, the others are listed below.",
        ),
        (
            "case_reference_ratio", _GAUGE, "", _CASE,
            "The worst value of a case against its reference: 1 is as expected, above is worse.",
        ),
        (
            "case_latency_seconds", _GAUGE, "s", _POINT,
            "Latency of a case of the last run, at few sizes; the history has all of them.",
        ),
        (
            "case_bandwidth_bytes_per_second", _GAUGE, "B/s", _POINT,
            "Bandwidth of a case of the last run, at few sizes.",
        ),
        (
            "last_complete_night_timestamp_seconds", _GAUGE, "s", (),
            "Unix time at which the last night began that came to its end without a failed step.",
        ),
        (
            "night_overdue_timestamp_seconds", _GAUGE, "s", (),
            "Unix time from which on a night is missing; 0 if none ever came to its end.",
        ),
        (
            "night_step_exit_code", _GAUGE, "", ("step",),
            "Exit codes of the last night that came to its end; of trend, 1 is a new regression.",
        ),
    ),
    *_rows(
        Source.PORTS,
        ("port_active", _GAUGE, "", _PORT, "1 if the port can carry data, as the kernel says."),
        (
            "port_missing", _GAUGE, "", _PORT,
            "1 if the port was there once and is no more; it stays until the port is back.",
        ),
        ("port_rate_bytes_per_second", _GAUGE, "B/s", _PORT, "Rate of the port."),
        (
            "port_carrier_changes_total", _COUNTER, "", _PORT,
            "How often the link of the port's interface came or went since the node was booted.",
        ),
        ("port_link_down_total", _COUNTER, "", _PORT, "How often the adapter lost the link."),
        (
            "port_ecn_marked_packets_total", _COUNTER, "packets", _PORT,
            "Packets that came with a mark of congestion; with Soft-RoCE over IPv4, the node's.",
        ),
        (
            "port_cnp_sent_packets_total", _COUNTER, "packets", _PORT,
            "Notifications of congestion that were sent to those who cause it.",
        ),
        (
            "port_cnp_handled_packets_total", _COUNTER, "packets", _PORT,
            "Notifications of congestion that came and slowed this port down.",
        ),
        (
            "port_pause_frames_total", _COUNTER, "frames", (*_PORT, "direction", "priority"),
            "Pause frames sent and received; priority all is that of the whole link.",
        ),
        ("port_sent_bytes_total", _COUNTER, "B", _PORT, "RDMA data sent."),
        ("port_received_bytes_total", _COUNTER, "B", _PORT, "RDMA data received."),
        (
            "port_errors_total", _COUNTER, "", (*_PORT, "counter"),
            "Every counter of errors, by its name in docs/reference/fabric-health.md.",
        ),
        (
            "port_retransmissions_total", _COUNTER, "", (*_PORT, "counter"),
            "Every counter of what was sent again or lost, by its name there.",
        ),
        (
            "band_limit", _GAUGE, "", ("node", "band", "level"),
            "Limits of a case's counters (docs/reference/fabric-health.md), for rules to compare.",
        ),
    ),
    *_rows(
        Source.STRESS,
        (
            "stress_running", _GAUGE, "", ("name",),
            "1 as long as the stress runs; absent if the scheduler does not answer.",
        ),
        (
            "stress_waiting", _GAUGE, "", ("name",),
            "1 if its job waits: for its turn, or for the end of a job that it yielded to.",
        ),
        (
            "stress_last_block_timestamp_seconds", _GAUGE, "s", ("name",),
            "Unix time at which its last block ended; it stays when the stress has ended.",
        ),
        (
            "stress_overdue_timestamp_seconds", _GAUGE, "s", ("name",),
            "Unix time from which on it is stuck: no block for ten times as long as usual.",
        ),
        ("stress_iterations_total", _COUNTER, "", ("name",), "The iteration that it is in."),
        ("stress_restarts_total", _COUNTER, "", ("name",), "How often its job began again."),
        ("stress_blocks_total", _COUNTER, "", ("name", "level"), "Blocks by their verdict."),
        (
            "stress_latency_seconds", _GAUGE, "s", _BLOCK,
            "Latency of the last block of its kind, as long as the stress runs.",
        ),
        (
            "stress_warning_seconds", _GAUGE, "s", _BLOCK,
            "Up to which latency a block is good, by the references.",
        ),
        (
            "stress_critical_seconds", _GAUGE, "s", _BLOCK,
            "Above which latency a block is critical, by the references.",
        ),
        (
            "stress_ecn_latency_correlation", _GAUGE, "", ("name",),
            "Spearman's correlation of marks and latency over the last blocks, at most 60.",
        ),
    ),
    *(
        Family(name, kind, "", labels, source, f"{same_as} by an older name.", same_as)
        for name, kind, labels, source, same_as in (
            ("mpi_benchmark_success", _GAUGE, (), Source.RUN, "fabricheck_verdict_passed"),
            (
                "mpi_benchmark_last_run_timestamp", _GAUGE, (), Source.RUN,
                "fabricheck_run_timestamp_seconds",
            ),
            *(
                (
                    f"mpi_{operation}_latency_us", _GAUGE, ("size", "nodes"), Source.STRESS,
                    "fabricheck_stress_latency_seconds",
                )
                for operation in ("allreduce", "broadcast", "alltoall", "allgather", "reduce")
            ),
            ("mpi_stress_test_running", _GAUGE, (), Source.STRESS, "fabricheck_stress_running"),
            (
                "mpi_stress_test_iteration", _GAUGE, (), Source.STRESS,
                "fabricheck_stress_iterations_total",
            ),
            (
                "mpi_benchmark_last_update_timestamp", _GAUGE, (), Source.STRESS,
                "fabricheck_stress_last_block_timestamp_seconds",
            ),
            (
                "rdma_ecn_marked_packets", _UNKNOWN, _PORT, Source.PORTS,
                "fabricheck_port_ecn_marked_packets_total",
            ),
            (
                "rdma_cnp_sent", _UNKNOWN, _PORT, Source.PORTS,
                "fabricheck_port_cnp_sent_packets_total",
            ),
            (
                "rdma_cnp_handled", _UNKNOWN, _PORT, Source.PORTS,
                "fabricheck_port_cnp_handled_packets_total",
            ),
        )
    ),
)  # fmt: skip

FAMILIES = MappingProxyType({family.name: family for family in CATALOG})
"""The catalogue by name."""

OLD_NAMES = MappingProxyType({family.same_as: family for family in CATALOG if family.same_as})
"""The family that repeats one of ours by the other benchmark's name."""


class Place(NamedTuple):
    """Where a counter of some role is shown: family, labels behind the port's, and factor."""

    family: str
    labels: tuple[str, ...] = ()
    factor: int = 1


# The kernel counts InfiniBand's data in words of four bytes.
_WORD = 4
ROLES = MappingProxyType(
    {
        Role.ECN_MARKED: Place("fabricheck_port_ecn_marked_packets_total"),
        Role.CNP_SENT: Place("fabricheck_port_cnp_sent_packets_total"),
        Role.CNP_HANDLED: Place("fabricheck_port_cnp_handled_packets_total"),
        Role.PAUSE_SENT: Place("fabricheck_port_pause_frames_total", ("sent",)),
        Role.PAUSE_RECEIVED: Place("fabricheck_port_pause_frames_total", ("received",)),
        Role.LINK_DOWN: Place("fabricheck_port_link_down_total"),
        Role.BYTES_SENT: Place("fabricheck_port_sent_bytes_total"),
        Role.BYTES_RECEIVED: Place("fabricheck_port_received_bytes_total"),
        Role.WORDS_SENT: Place("fabricheck_port_sent_bytes_total", factor=_WORD),
        Role.WORDS_RECEIVED: Place("fabricheck_port_received_bytes_total", factor=_WORD),
    }
)
"""Where each role of the table of counters is shown."""


def sample(name: str, value: float, *labels: str) -> Iterator[Sample]:
    """A value of a family, and again by its older name if that has the same labels."""
    family = FAMILIES[name]
    yield Sample(family, labels, float(value))
    old = OLD_NAMES.get(name)
    if old and old.labels == family.labels:
        yield Sample(old, labels, float(value))
