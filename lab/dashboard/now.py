"""The dashboard for the wall: what is wrong now, and where."""

from typing import Final

from dashboard import panels
from dashboard.panels import ONE_IS_GOOD, PLAIN, PORT, ZERO_IS_GOOD, Panel, Query, one, table
from fabricheck.fabric.counters import BANDS

_greatest: Final = panels.greatest
_NO_PORTS: Final = "no exporter of ports (fabricheck exporter --ports)"
_NO_STRESS: Final = "no stress runs (fabricheck stress start)"
_STRESS: Final = 'name=~"$stress",system=~"$system",partition=~"$partition",transport=~"$transport"'
_PLACE: Final = "{{node}} {{device}}:{{port}}"
_ECN, _PFC = panels.told(BANDS["ecn"]), panels.told(BANDS["pfc"])
_DOWN: Final = f"fabricheck:port:down{{{PORT}}}"
_FIRING: Final = (
    'count by (severity, alertname, leaf, system, name) (ALERTS{alertstate="firing",leaf!=""}) or '
    "count by (severity, alertname, node, device, name, system, instance) "
    '(ALERTS{alertstate="firing",leaf=""})'
)
_DUE: Final = f"fabricheck_stress_node_due_timestamp_seconds{{{_STRESS}}}"
_ALLREDUCE: Final = f'{{{_STRESS},operation="allreduce",statistic="avg"}}'


def _spread(name: str) -> str:
    return f"fabricheck:{name}:rate5m{{{PORT}}}"


NOW = panels.Board(
    "mpi-benchmark-dashboard", "Fabric now", "What is wrong in the fabric now, and where.",
    "now-1h", "30s",
    (
        panels.SYSTEM,
        ("partition", "Partition", "fabricheck_stress_state"),
        ("stress", "Stress", "fabricheck_stress_state"),
        ("transport", "Transport", "fabricheck_stress_state"),
        ("node", "Node", "fabricheck_ports"),
        ("device", "Card", "fabricheck_port_active"),
    ),
    (
        (
            "What is wrong",
            (
                panels.verdict(
                    "Last night", "Whether the last night may be called good; where none was set "
                    "up, the newest run.",
                    'min(fabricheck_night_verdict_passed{system=~"$system"}) '
                    'or min(fabricheck_verdict_passed{system=~"$system"})',
                ),
                one(
                    "Alerts", "Alerts that fire, and are not held back.",
                    'count(ALERTS{alertstate="firing"}) or 0 * count(up)', ZERO_IS_GOOD,
                    "Prometheus scrapes nothing",
                ),
                one(
                    "Links down", "Ports that were up this week and are down.",
                    f"count({_DOWN}) or 0 * count(fabricheck_ports)", ZERO_IS_GOOD, _NO_PORTS,
                ),
                one(
                    "Ports missing", "Ports that were there once and are no more.",
                    f"sum(fabricheck_port_missing{{{PORT}}})", ZERO_IS_GOOD, _NO_PORTS,
                ),
                one(
                    "Exporters down", "Targets that do not answer.",
                    'count(up{job=~"fabricheck.*"} == 0) or 0 * count(up{job=~"fabricheck.*"})',
                    ZERO_IS_GOOD, "no target is called fabricheck",
                ),
                one(
                    "Sources", "Whether all exporters can read what they serve.",
                    "min(fabricheck_exporter_source_up)", ONE_IS_GOOD,
                    "no exporter (fabricheck exporter)", words=((0, "DOWN"), (1, "up")),
                ),
                table(
                    "Alerts that fire", "Those of a leaf together, others by their place.",
                    f"topk(100, {_FIRING})",
                    "severity alertname leaf node device name system instance", "no alert fires",
                    value="how many", width=15,
                ),
                table(
                    "Links that are down", "The first fifty ports that were up this week.",
                    f"topk(50, {_DOWN})", "leaf node device port", "every link is up",
                    width=9,
                ),
            ),
        ),
        (
            "Stress",
            (
                one(
                    "Running", "Whether a stress runs now.",
                    f"max(fabricheck_stress_running{{{_STRESS}}})",
                    ((None, "yellow"), (1, "green")), _NO_STRESS,
                    words=((0, "no"), (1, "running")),
                ),
                one(
                    "Blocks in 5 minutes", "Blocks that came to their end.",
                    f"sum(increase(fabricheck_stress_blocks_total{{{_STRESS}}}[5m]))", PLAIN,
                    _NO_STRESS,
                ),
                one(
                    "Last block ended", "Time since the last block of a stress.",
                    f"time() - max(fabricheck_stress_last_block_timestamp_seconds{{{_STRESS}}})",
                    PLAIN, _NO_STRESS, unit="s",
                ),
                one(
                    "Blocks not proved or critical", "Blocks of this stress that are not in order.",
                    'sum(fabricheck_stress_blocks_total'
                    f'{{{_STRESS},level!~"good|warning"}})', ZERO_IS_GOOD, _NO_STRESS,
                ),
                one(
                    "Nodes late", "Nodes that waited longer for a block than the site allows.",
                    f"count(time() > {_DUE}) or 0 * count({_DUE})",
                    ((None, "green"), (1, "yellow")), _NO_STRESS,
                ),
                one(
                    "Nodes left out", "Nodes that the stress lost or leaves out.",
                    f"sum(fabricheck_stress_node_dead{{{_STRESS}}} "
                    f"or fabricheck_stress_node_excluded{{{_STRESS}}})",
                    ZERO_IS_GOOD, _NO_STRESS,
                ),
                Panel(
                    "Allreduce", "Average latency of the last block of each size; dashed, up to "
                    "where it is good and from where it is critical.", "s",
                    (
                        Query(f"fabricheck_stress_latency_seconds{_ALLREDUCE}",
                              "{{name}} {{size_bytes}} B, {{nodes}} nodes"),
                        Query(f"fabricheck_stress_critical_seconds{_ALLREDUCE}",
                              "critical from {{size_bytes}} B", "red"),
                    ),
                    _NO_STRESS, log=True,
                ),
                Panel(
                    "Other collectives", "Average latency of the last block of each size.", "s",
                    (
                        Query("topk(50, fabricheck_stress_latency_seconds"
                              f'{{{_STRESS},operation!="allreduce",statistic="avg"}})',
                              "{{operation}} {{size_bytes}} B"),
                    ),
                    _NO_STRESS, log=True,
                ),
                Panel(
                    "Slowest iteration", "The slowest of the last minute, of every block.", "s",
                    (
                        Query(f"topk(20, fabricheck_stress_greatest_latency_seconds{{{_STRESS}}})",
                              "{{operation}} {{size_bytes}} B"),
                    ),
                    _NO_STRESS, log=True,
                ),
                Panel(
                    "Blocks by latency", "Median of all blocks of five minutes, from their counts.",
                    "s",
                    (
                        Query(
                            "topk(20, histogram_quantile(0.5, sum by (le, operation, size_bytes) "
                            "(rate(fabricheck_stress_block_latency_seconds_bucket"
                            f"{{{_STRESS}}}[5m]))))", "{{operation}} {{size_bytes}} B",
                        ),
                    ),
                    _NO_STRESS, log=True,
                ),
            ),
        ),
        (
            "Congestion",
            (
                Panel(
                    "Latency and marks", "The stress at p50, and the marks of all ports.", "s",
                    (
                        Query("fabricheck_stress_latency_seconds"
                              f'{{{_STRESS},operation="allreduce",statistic="p50"}}',
                              "allreduce {{size_bytes}} B"),
                        Query(f"sum({_spread('ecn_marked_packets')})", "marks"),
                    ),
                    _NO_STRESS, right="pps", log=True,
                ),
                Panel(
                    "How marks and latency go together",
                    "Spearman's correlation over the last blocks, at most 60: near 1, the fabric "
                    "is slow where it is congested.", "none",
                    (Query(f"fabricheck_stress_ecn_latency_correlation{{{_STRESS}}}", "{{name}}"),),
                    "no stress over RDMA with eight blocks that counted marks", ends=(-1, 1),
                ),
                Panel(
                    "ECN marks", f"The ten ports with most, packets with a mark: {_ECN}.", "pps",
                    (Query(_greatest(_spread("ecn_marked_packets")), _PLACE),),
                    _NO_PORTS, steps=panels.band_steps("ecn"),
                ),
                Panel(
                    "Pauses at the nodes", f"The ten ports with most pause frames: {_PFC}.", "pps",
                    (
                        Query(_greatest(_spread("pause_frames"), "node, device, port, direction"),
                              "{{node}} {{device}}:{{port}} {{direction}}"),
                    ),
                    _NO_PORTS, steps=panels.band_steps("pfc"),
                ),
                Panel(
                    "ECN marks by leaf", "The sum of each leaf's ports, as targets are labelled.",
                    "pps",
                    (
                        Query(f"topk(40, sum by (leaf) ({_spread('ecn_marked_packets')}))",
                              "{{leaf}}"),
                    ),
                    _NO_PORTS,
                ),
                Panel(
                    "Notifications (CNP)", "Sent and handled, all ports. Soft-RoCE sends none.",
                    "pps",
                    (
                        Query(f"sum({_spread('cnp_sent_packets')})", "sent"),
                        Query(f"sum({_spread('cnp_handled_packets')})", "handled"),
                    ),
                    "no adapter that counts them",
                ),
                Panel(
                    "Traffic by rail", "RDMA data that the ports send, by name of the card.", "Bps",
                    (Query(f"topk(20, sum by (device) ({_spread('sent_bytes')}))", "{{device}}"),),
                    _NO_PORTS,
                ),
                Panel(
                    "Sent again or lost", "The ten ports with most, by the band that judges them.",
                    "cps",
                    (
                        Query(_greatest(_spread("retransmissions"), "node, device, port, band"),
                              f"{_PLACE} {{{{band}}}}"),
                    ),
                    _NO_PORTS,
                ),
                Panel(
                    "Pauses at the switch (PFC)", "From an exporter of the switch's: the ten "
                    "interfaces with most.", "pps",
                    (
                        Query('topk(10, rate(nexus_pfc_rx_frames{interface=~"ii.*"}'
                              "[$__rate_interval]))", "{{interface}}"),
                    ),
                    "no exporter of a switch", steps=panels.band_steps("pfc"),
                ),
                Panel(
                    "Active ports by leaf", "A leaf that falls has lost its switch, or a rail.",
                    "none",
                    (Query("topk(40, sum by (leaf) (fabricheck:ports_active:sum))", "{{leaf}}"),),
                    _NO_PORTS,
                ),
                table(
                    "What counters are held to", "The greatest limit of any node, by its band "
                    "(fabric health).", "max by (band, level) (fabricheck_band_limit)",
                    "band level", _NO_PORTS, value="limit",
                ),
            ),
        ),
    ),
)  # fmt: skip
