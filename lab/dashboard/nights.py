"""The dashboard of the nights: what became of them in a month, and what changed."""

from typing import Final

from dashboard import panels
from dashboard.panels import NO_NIGHT, ZERO_IS_GOOD, Panel, Query, one, table

_CASE: Final = 'system=~"$system",partition=~"$partition",placement=~"$transport.*"'
_OUTSIDE: Final = 'status!~"good|skipped"'
_SYSTEM: Final = 'system=~"$system"'


def _farthest(expression: str) -> str:
    """The ten that were farthest in the time that is shown."""
    on = "system, partition, environment, benchmark, placement"
    return f"{expression} and on ({on}) topk(10, max_over_time({expression}[$__range] @ end()))"


NIGHTS = panels.Board(
    "fabric-nights-dashboard", "Fabric nights", "What became of the nights, and what changed.",
    "now-30d", "5m",
    (
        panels.SYSTEM,
        ("partition", "Partition", "fabricheck_case_status"),
        ("transport", "Placement", "fabricheck_case_status"),
    ),
    (
        (
            "The last night",
            (
                panels.verdict(
                    "Verdict", "Whether it may be called good, as its exit code says.",
                    f"min(fabricheck_night_verdict_passed{{{_SYSTEM}}})",
                ),
                one(
                    "Critical cases", "Cases that are critical.",
                    f'sum(fabricheck_night_cases{{{_SYSTEM},status="critical"}})', ZERO_IS_GOOD,
                    NO_NIGHT,
                ),
                one(
                    "Cases not proved", "Untrusted, without reference, disturbed or not run.",
                    "sum(fabricheck_night_cases"
                    f'{{{_SYSTEM},status!~"good|warning|critical|skipped"}})', ZERO_IS_GOOD,
                    NO_NIGHT,
                ),
                one(
                    "Regressions", "Exit code of the trend of the last night: 1 is one that is "
                    "open.",
                    'max(fabricheck_night_step_exit_code{step="trend"})', ZERO_IS_GOOD, NO_NIGHT,
                    words=((0, "none"), (1, "OPEN"), (2, "unknown")),
                ),
                one(
                    "A night is missing in", "Below zero, one is missing.",
                    "min(fabricheck_night_overdue_timestamp_seconds) - time()",
                    ((None, "red"), (0, "green")), "no night was set up", unit="s",
                ),
                one(
                    "Steps that failed", "Steps of the last night that did not end well.",
                    'count(fabricheck_night_step_exit_code{step!="trend"} > 0) '
                    "or 0 * count(fabricheck_night_step_exit_code)", ZERO_IS_GOOD, NO_NIGHT,
                ),
                table(
                    "Cases that are not good", "The first hundred of the last night.",
                    f"topk(100, fabricheck_case_status{{{_CASE},{_OUTSIDE}}})",
                    "status benchmark placement environment partition system",
                    "every case is good",
                ),
                table(
                    "What ran", "Software of the last night's cases.",
                    f"topk(50, fabricheck_software_info{{{_SYSTEM}}})",
                    "system partition environment mpi mpi_version ucx_version", NO_NIGHT,
                ),
            ),
        ),
        (
            "A month",
            (
                Panel(
                    "Cases by status", "How the cases that were not good came out.", "none",
                    (
                        Query(f"sum by (status) (fabricheck_night_cases{{{_SYSTEM},{_OUTSIDE}}})",
                              "{{status}}"),
                    ),
                    NO_NIGHT,
                ),
                Panel(
                    "Verdict by system", "1 is good, 0 is not.", "none",
                    (
                        Query(f"topk(20, fabricheck_night_verdict_passed{{{_SYSTEM}}})",
                              "{{system}}"),
                    ),
                    NO_NIGHT, ends=(0, 1),
                ),
                Panel(
                    "Most of their tolerance",
                    "The ten cases that used most of their tolerance: at 100 % they are critical.",
                    "percentunit",
                    (
                        Query(_farthest(f"fabricheck_case_reference_ratio{{{_CASE}}}"),
                              "{{benchmark}} {{placement}} {{environment}}"),
                    ),
                    NO_NIGHT, steps=((None, "green"), (1, "red")),
                ),
                Panel(
                    "Allreduce at 1 MiB", "The ten slowest placements, at p50.", "s",
                    (
                        Query(
                            _farthest("fabricheck_case_latency_seconds"
                                      f'{{{_CASE},benchmark="allreduce",statistic="p50",'
                                      'size_bytes="1048576"}'),
                            "{{placement}} {{environment}}",
                        ),
                    ),
                    NO_NIGHT, log=True,
                ),
                Panel(
                    "Latency of small messages", "The ten slowest placements at 8 B, p50.", "s",
                    (
                        Query(
                            _farthest("fabricheck_case_latency_seconds"
                                      f'{{{_CASE},benchmark="latency",statistic="p50",'
                                      'size_bytes="8"}'),
                            "{{placement}} {{environment}}",
                        ),
                    ),
                    NO_NIGHT, log=True,
                ),
                Panel(
                    "Alerts", "How many fire, by name.", "none",
                    (
                        Query('topk(20, count by (alertname) (ALERTS{alertstate="firing"}))',
                              "{{alertname}}"),
                    ),
                    "no alert fired",
                ),
            ),
        ),
    ),
)  # fmt: skip
