"""A simulated hour of four nodes: a quarter of it congested, one port lost near its end."""

import math
from collections.abc import Callable

from fabricheck.fabric.counters import BANDS
from fabricheck.monitor.catalog import FAMILIES
from fabricheck.monitor.ports import limits_of

STEP = 15
"""Seconds between two scrapes."""
Rate = Callable[[float], float]
"""A value by the second of the hour."""
Row = tuple[tuple[str, ...], Rate]

_CONGESTED = (1200, 2100)
_LOST = 3000
_NODES = ("n1", "n2", "n3", "n4")
_MICRO = 1e-6


def document(begin: int, end: int) -> str:
    """The hour as OpenMetrics.

    Args:
        begin: its first second, in seconds of Unix.
        end: its last one.
    """
    lines = []
    for name, rows in _courses(begin).items():
        names = FAMILIES[name].labels if name in FAMILIES else ("interface",)
        kind = FAMILIES[name].kind if name in FAMILIES else "unknown"
        lines += [f"# TYPE {name.removesuffix('_total')} {kind}"]
        for labels, course in rows:
            told = ",".join(f'{k}="{v}"' for k, v in zip(names, labels, strict=True))
            for now in range(begin, end + 1, STEP):
                value = course(now - begin)
                if not math.isnan(value):
                    lines.append(f"{name}{{{told}}} {value:.9g} {now}")
    return "\n".join([*lines, "# EOF", ""])


def _load(second: float) -> float:
    """From 0, idle, to 1, congested; it comes and goes within two minutes."""
    first, last = _CONGESTED
    rise = min((second - first) / 120, (last - second) / 120, 1.0)
    return max(rise, 0.0) * (0.85 + 0.15 * math.sin(second / 40))


def _summed(rate: Rate) -> Rate:
    """A counter that rises at that rate."""
    return lambda second: sum(rate(at) * STEP for at in range(0, int(second), STEP))


def _courses(begin: int) -> dict[str, list[Row]]:
    return {**_run(begin), **_stress(begin), **_ports(), **_switch()}


def _run(begin: int) -> dict[str, list[Row]]:
    def case(benchmark: str, size: int, micro: float) -> Row:
        labels = ("roce25g-8n", "compute", "openmpi", benchmark, "ud_verbs_sm-8n", "p50", str(size))
        return labels, lambda _: micro * _MICRO

    def counted(status: str, number: int) -> Row:
        return ("roce25g-8n", status), lambda _: number

    sizes = {1048576: 10600.0, 4194304: 38900.0, 65536: 484.0}
    others = {"bcast": 5870.0, "alltoall": 73000.0, "reduce": 5850.0, "allgather": 9100.0}
    shares = {"allreduce": 0.12, "bcast": -0.06, "alltoall": 0.04, "reduce": 0.48, "latency": -0.02}
    return {
        "fabricheck_night_verdict_passed": [(("roce25g-8n",), lambda _: 1)],
        "fabricheck_night_cases": [counted("good", 203), counted("warning", 12),
                                   counted("critical", 0), counted("untrusted", 0)],
        "fabricheck_case_latency_seconds": [
            *(case("allreduce", size, value) for size, value in sizes.items()),
            *(case(name, 1048576, value) for name, value in others.items()),
        ],
        "fabricheck_case_reference_ratio": [
            (("roce25g-8n", "compute", "openmpi", name, "ud_verbs_sm-8n"), lambda _, s=share: s)
            for name, share in shares.items()
        ],
        "fabricheck_night_step_exit_code": [(("trend",), lambda _: 0)],
        "fabricheck_night_overdue_timestamp_seconds": [((), lambda _: begin + 19 * 3600)],
        "fabricheck_exporter_source_up": [(("run",), lambda _: 1), (("ports",), lambda _: 1)],
    }  # fmt: skip


def _stress(begin: int) -> dict[str, list[Row]]:
    """The stress of the MPI AI cluster benchmark, with its latencies and what they may be."""
    blocks = (
        ("allreduce", 4194304, 38900.0, 60000.0, 0.5),
        ("allreduce", 1048576, 10600.0, 20000.0, 1.1),
        ("allreduce", 65536, 484.0, 1000.0, 1.5),
        ("bcast", 4194304, 25400.0, 30000.0, 0.1),
        ("alltoall", 1048576, 73000.0, 100000.0, 0.2),
        ("allgather", 131072, 6300.0, 10000.0, 0.3),
        ("reduce", 1048576, 5850.0, 10000.0, 0.2),
    )
    found: dict[str, list[Row]] = {
        "fabricheck_stress_running": [(("seed",), lambda _: 1)],
        "fabricheck_stress_last_block_timestamp_seconds": [(("seed",), lambda s: begin + s - 7)],
        "fabricheck_stress_iterations_total": [(("seed",), lambda s: 40 + s // 90)],
        "fabricheck_stress_restarts_total": [(("seed",), lambda _: 0)],
        "fabricheck_stress_blocks_total": [
            (("seed", "good"), lambda s: 340 + s // 10),
            (("seed", "warning"), lambda s: 3 + _load(s)),
        ],
        "fabricheck_stress_ecn_latency_correlation": [
            (("seed",), lambda s: 0.86 + 0.06 * _load(s))
        ],
    }
    for operation, size, micro, critical, slower in blocks:
        for statistic in ("avg", "p50"):
            labels = ("seed", operation, str(size), "8", statistic)
            rows = found.setdefault("fabricheck_stress_latency_seconds", [])
            rows.append(
                (labels, lambda s, m=micro, x=slower: m * _MICRO * (1 + x * _load(s - s % 90)))
            )
            bounds = found.setdefault("fabricheck_stress_critical_seconds", [])
            bounds.append((labels, lambda _, c=critical: c * _MICRO))
    return found


def _ports() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for number, node in enumerate(_NODES):
        place = (node, "mlx5_0", "1")
        lost = number == len(_NODES) - 1
        share = 1 - 0.2 * number
        marks = _summed(lambda s, x=share: 20 + 700 * x * _load(s))
        pauses = _summed(lambda s, x=share: 90 * x * _load(s))
        there = (lambda s: s < _LOST) if lost else (lambda _: 1.0)
        traffic = _summed(lambda s, t=there: t(s) * (1.2e9 + 1.6e9 * _load(s)))
        for name, labels, course in (
            ("port_active", (), there),
            ("port_missing", (), lambda _: 0),
            ("port_carrier_changes_total", (), lambda s, t=there: 2 + (1 - t(s))),
            ("port_ecn_marked_packets_total", (), marks),
            ("port_cnp_sent_packets_total", (), lambda s, m=marks: 0.9 * m(s)),
            ("port_cnp_handled_packets_total", (), lambda s, m=marks: 0.8 * m(s)),
            ("port_pause_frames_total", ("received", "3"), pauses),
            ("port_sent_bytes_total", (), traffic),
            ("port_retransmissions_total", ("packet_seq_err",), _summed(lambda s: 0.2 * _load(s))),
        ):  # fmt: skip
            found.setdefault(f"fabricheck_{name}", []).append(((*place, *labels), course))
        for band, level, limit in limits_of(BANDS):
            row = ((node, band, level), lambda _, x=limit: x)
            found.setdefault("fabricheck_band_limit", []).append(row)
    return found


def _switch() -> dict[str, list[Row]]:
    """What another exporter tells of the switch."""
    return {
        "nexus_pfc_rx_frames": [
            ((f"ii1/1/{port}",), _summed(lambda s, x=port: 60 * _load(s) / x)) for port in (1, 2)
        ]
    }
