"""What is wrong with the fabric, in sentences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fabricheck.judge.levels import Level

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not good.

    Attributes:
        level: ``warning`` or ``critical``.
        subject: what it is about: a counter's name, or words such as ``link state``; findings with
            the same subject and level are told together.
        host: the node, empty for what concerns several.
        port: device and port as ``mlx5_0:1``, empty for what concerns the node.
        found: what was found, with value and limit.
        advice: what it says and what to do.
        badness: how far from its limit; the worst of several is told in full.
    """

    level: Level
    subject: str
    host: str
    port: str
    found: str
    advice: str
    badness: float = 0.0

    @property
    def place(self) -> str:
        """Node and port."""
        return " ".join(filter(None, (self.host, self.port)))

    def __str__(self) -> str:
        where = f" on {self.place}" if self.place else ""
        return f"{self.subject}{where}: {self.found}: {self.advice}"


def tell(findings: Iterable[Finding]) -> tuple[str, ...]:
    """One sentence for each subject and level, the worst first."""
    groups: dict[tuple[Level, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.level, finding.subject), []).append(finding)
    ordered = sorted(groups.items(), key=lambda item: -item[0][0].severity)
    return tuple(_sentence(group) for _, group in ordered)


def _sentence(group: Sequence[Finding]) -> str:
    worst, *others = sorted(group, key=lambda finding: -finding.badness)
    if not others:
        return str(worst)
    named = ", ".join(finding.place for finding in others[:_MOST_NAMED])
    more = len(others) - _MOST_NAMED
    return f"{worst} (also {named}{f' and {more} more' if more > 0 else ''})"
