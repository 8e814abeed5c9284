"""The panels of the dashboard: what each asks for, and from which values on which colour."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from fabricheck.fabric.counters import BANDS, Band

_RUN: Final = 'system=~"$system"'
_PORT: Final = 'node=~"$node"'
_RATE: Final = "[$__rate_interval]"

Steps = Sequence[tuple[float | None, str]]
_PLAIN: Final[Steps] = ((None, "blue"),)
_ZERO_IS_GOOD: Final[Steps] = ((None, "green"), (1, "red"))
_ONE_IS_GOOD: Final[Steps] = ((None, "red"), (1, "green"))


class Query(NamedTuple):
    """An expression of PromQL, and what its series are called."""

    expression: str
    legend: str


class Panel(NamedTuple):
    """One panel.

    Attributes:
        title: above it.
        description: what it says, and what is good.
        unit: Grafana's name of it.
        queries: what it shows.
        steps: from which value on which colour; the first without a value.
        words: what is written instead of a number, for one that shows the last value.
        width: columns of 24; a panel that shows the last value has fewer than a third.
        right: unit of the second query, if that has an axis of its own.
    """

    title: str
    description: str
    unit: str
    queries: tuple[Query, ...]
    steps: Steps = _PLAIN
    words: tuple[tuple[int, str], ...] = ()
    width: int = 12
    right: str = ""


def _band(name: str) -> Steps:
    """Green, from the warning limit on yellow, and above the critical one red."""
    band = BANDS[name]
    assert band.warning is not None
    assert band.critical is not None
    # Grafana's step begins with its value, and a value on the critical limit is still inside.
    return (
        (None, "green"),
        (band.warning, "yellow"),
        (math.nextafter(band.critical, math.inf), "red"),
    )


def _told(band: Band) -> str:
    return f"good below {band.warning:g}/s, critical above {band.critical:g}/s"


def _one(
    title: str,
    description: str,
    expression: str,
    steps: Steps,
    *,
    words: tuple[tuple[int, str], ...] = (),
    unit: str = "none",
) -> Panel:
    return Panel(title, description, unit, (Query(expression, ""),), steps, words, width=4)


def _night(expression: str) -> str:
    """An expression on the last night; where none was set up, on the newest run."""
    names = ("fabricheck_night_", "fabricheck_")
    return " or ".join(expression.format(name, _RUN) for name in names)


_ABOVE: Final = "fabricheck_stress_latency_seconds > fabricheck_stress_critical_seconds"
_PASSED = ((0, "LOOK"), (1, "FINE"))
_ECN, _PFC = _told(BANDS["ecn"]), _told(BANDS["pfc"])

ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    (
        "Verdict",
        (
            _one(
                "Last night",
                "Whether the last night may be called good, as its exit code says; where none was "
                "set up, the newest run.",
                _night("min({}verdict_passed{{{}}})"), _ONE_IS_GOOD,
                words=_PASSED,
            ),
            _one(
                "Critical cases", "Cases of the last night that are critical.",
                _night('sum({}cases{{{},status="critical"}})'), _ZERO_IS_GOOD,
            ),
            _one(
                "Cases not proved",
                "Cases of the last night that say nothing: untrusted, without reference, not run.",
                _night('sum({}cases{{{},status!~"good|warning|critical|skipped"}})'),
                _ZERO_IS_GOOD,
            ),
            _one(
                "Regressions", "Exit code of the trend of the last night: 1 is one that is open.",
                'max(fabricheck_night_step_exit_code{step="trend"})', _ZERO_IS_GOOD,
                words=((0, "none"), (1, "OPEN"), (2, "unknown")),
            ),
            _one(
                "A night is missing in", "Below zero, one is missing.",
                "min(fabricheck_night_overdue_timestamp_seconds) - time()",
                ((None, "red"), (0, "green")), unit="s",
            ),
            _one(
                "Sources", "Whether all exporters can read what they serve.",
                "min(fabricheck_exporter_source_up)", _ONE_IS_GOOD,
                words=((0, "DOWN"), (1, "up")),
            ),
        ),
    ),
    (
        "Stress",
        (
            _one(
                "Running", "Whether a stress runs now; absent where none ever did.",
                "max(fabricheck_stress_running)", ((None, "yellow"), (1, "green")),
                words=((0, "no"), (1, "running")),
            ),
            _one(
                "Iteration", "The iteration that the stress is in.",
                "max(fabricheck_stress_iterations_total)", _PLAIN,
            ),
            _one(
                "Last block ended", "Time since the last block of a stress.",
                "time() - max(fabricheck_stress_last_block_timestamp_seconds)", _PLAIN, unit="s",
            ),
            _one(
                "Blocks not proved or critical", "Blocks of this stress that are not in order.",
                'sum(fabricheck_stress_blocks_total{level!~"good|warning"})', _ZERO_IS_GOOD,
            ),
            _one(
                "Began again", "How often the job yielded its nodes, or lost them, and came back.",
                "max(fabricheck_stress_restarts_total)", ((None, "green"), (1, "yellow")),
            ),
            _one(
                "Above critical", "Latencies of the last blocks above what the references allow.",
                f"count({_ABOVE}) or 0 * count(fabricheck_stress_critical_seconds)",
                _ZERO_IS_GOOD,
            ),
            Panel(
                "Allreduce under stress", "Average latency of the last block of each size.", "s",
                (
                    Query(
                        'fabricheck_stress_latency_seconds{operation="allreduce",statistic="avg"}',
                        "{{size_bytes}} B on {{nodes}} nodes",
                    ),
                    Query(
                        'fabricheck_stress_critical_seconds{operation="allreduce",statistic="avg"}',
                        "critical: {{size_bytes}} B",
                    ),
                ),
            ),
            Panel(
                "Other collectives under stress", "Average latency of the last block of each size.",
                "s",
                (
                    Query(
                        'fabricheck_stress_latency_seconds{operation!="allreduce",statistic="avg"}',
                        "{{operation}} {{size_bytes}} B on {{nodes}} nodes",
                    ),
                ),
            ),
        ),
    ),
    (
        "Latency of the last night",
        (
            Panel(
                "Allreduce", "Latency of gradient synchronisation at p50, by placement and size.",
                "s",
                (
                    Query(
                        "fabricheck_case_latency_seconds"
                        f'{{{_RUN},benchmark="allreduce",statistic="p50"}}',
                        "{{placement}} {{environment}} {{size_bytes}} B",
                    ),
                ),
            ),
            Panel(
                "Other collectives", "Latency at p50 of the other operations at 1 MiB.", "s",
                (
                    Query(
                        f"fabricheck_case_latency_seconds{{{_RUN},"
                        'benchmark=~"bcast|alltoall|allgather|reduce",statistic="p50",'
                        'size_bytes="1048576"}',
                        "{{benchmark}} {{placement}} {{environment}}",
                    ),
                ),
            ),
            Panel(
                "Most of their tolerance",
                "The ten cases that use most of their tolerance: at 100 % they are critical.",
                "percentunit",
                (
                    Query(
                        f"topk(10, fabricheck_case_reference_ratio{{{_RUN}}})",
                        "{{benchmark}} {{placement}} {{environment}}",
                    ),
                ),
                ((None, "green"), (1, "red")),
            ),
            Panel(
                "Cases by status", "How the last night's cases came out.", "none",
                (
                    Query(_night("sum by (status) ({}cases{{{}}})"), "{{status}}"),
                ),
            ),
        ),
    ),
    (
        "Congestion",
        (
            Panel(
                "Latency and marks",
                "What the stress measures at p50, and the marks of all ports meanwhile.", "s",
                (
                    Query(
                        'fabricheck_stress_latency_seconds{operation="allreduce",statistic="p50"}',
                        "allreduce {{size_bytes}} B",
                    ),
                    Query(
                        f"sum(rate(fabricheck_port_ecn_marked_packets_total{{{_PORT}}}{_RATE}))",
                        "marks",
                    ),
                ),
                right="pps",
            ),
            Panel(
                "How marks and latency go together",
                "Spearman's correlation over the last blocks of the stress: near 1, the fabric is "
                "slow where it is congested.", "none",
                (Query("fabricheck_stress_ecn_latency_correlation", "{{name}}"),),
            ),
            Panel(
                "ECN marks", f"Packets that came with a mark of congestion: {_ECN}.", "pps",
                (
                    Query(
                        f"rate(fabricheck_port_ecn_marked_packets_total{{{_PORT}}}{_RATE})",
                        "{{node}} {{device}}:{{port}}",
                    ),
                ),
                _band("ecn"),
            ),
            Panel(
                "Notifications (CNP)",
                f"Notifications of congestion, sent and handled: {_ECN}. Soft-RoCE sends none.",
                "pps",
                (
                    Query(
                        f"rate(fabricheck_port_cnp_sent_packets_total{{{_PORT}}}{_RATE})",
                        "{{node}} {{device}}:{{port}} sent",
                    ),
                    Query(
                        f"rate(fabricheck_port_cnp_handled_packets_total{{{_PORT}}}{_RATE})",
                        "{{node}} {{device}}:{{port}} handled",
                    ),
                ),
                _band("ecn"),
            ),
            Panel(
                "Pauses at the nodes", f"Pause frames of the adapters: {_PFC}.", "pps",
                (
                    Query(
                        "sum by (node, device, port, direction) "
                        f"(rate(fabricheck_port_pause_frames_total{{{_PORT}}}{_RATE}))",
                        "{{node}} {{device}}:{{port}} {{direction}}",
                    ),
                ),
                _band("pfc"),
            ),
            Panel(
                "Pauses at the switch (PFC)",
                "From an exporter of the switch's, which is not ours; empty without one.", "pps",
                (
                    Query(
                        f'rate(nexus_pfc_rx_frames{{interface=~"ii.*"}}{_RATE})', "{{interface}}"
                    ),
                ),
                _band("pfc"),
            ),
            Panel(
                "Traffic", "RDMA data that the ports send.", "Bps",
                (
                    Query(
                        f"rate(fabricheck_port_sent_bytes_total{{{_PORT}}}{_RATE})",
                        "{{node}} {{device}}:{{port}}",
                    ),
                ),
            ),
            Panel(
                "Sent again or lost", "Every counter of retransmissions that rises.", "cps",
                (
                    Query(
                        f"rate(fabricheck_port_retransmissions_total{{{_PORT}}}{_RATE})",
                        "{{node}} {{device}}:{{port}} {{counter}}",
                    ),
                ),
            ),
        ),
    ),
    (
        "Links",
        (
            _one(
                "Ports missing", "Ports that were there once and are no more.",
                f"sum(fabricheck_port_missing{{{_PORT}}})", _ZERO_IS_GOOD,
            ),
            _one(
                "Ports down", "Ports that can't carry data; unused ones count, too.",
                f"sum(1 - fabricheck_port_active{{{_PORT}}})",
                ((None, "green"), (1, "yellow")),
            ),
            _one(
                "Links that flapped", "Ports whose link came or went in the last day.",
                f"sum(increase(fabricheck_port_carrier_changes_total{{{_PORT}}}[1d]) > bool 0)",
                _ZERO_IS_GOOD,
            ),
            Panel(
                "Active ports by node", "A node with fewer than its peers has lost one.", "none",
                (Query(f"sum by (node) (fabricheck_port_active{{{_PORT}}})", "{{node}}"),),
            ),
        ),
    ),
)  # fmt: skip
