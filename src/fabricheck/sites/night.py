"""The section ``night`` of a site file: what a night may cost, and what it must not leave out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

KEY: Final = "night"
LONGEST_REST: Final = 7
"""Nights after which a case runs again where the site says nothing else."""


@dataclass(frozen=True, slots=True)
class NightSettings:
    """What a site says of its nights; words are those that cases are called by.

    Attributes:
        budget: ``node_hours`` and ``wall`` (such as ``2h``) that a night may cost; empty for a site
            whose nights run everything.
        always: words of cases that run every night.
        at_least_every: for words of cases the nights after which they run again.
        after_change: for facts of provenance the words of cases that a change of it concerns;
            without it, all of the partition or environment that changed.
        weight: for words of cases what finding a fault with them is worth beside others.
        nodes: ``at_least_every``: nights after which each node is measured again.
    """

    budget: Mapping[str, float | str] = field(default_factory=dict)
    always: Sequence[str] = ()
    at_least_every: Mapping[str, int] = field(default_factory=dict)
    after_change: Mapping[str, Sequence[str]] = field(default_factory=dict)
    weight: Mapping[str, float] = field(default_factory=dict)
    nodes: Mapping[str, int] = field(default_factory=dict)

    @property
    def nodes_every(self) -> int | None:
        """Nights after which each node is measured again; ``None`` where the site doesn't say."""
        return self.nodes.get("at_least_every")

    @property
    def longest_rest(self) -> int:
        """The most nights that a case may rest; 1 where everything runs every night."""
        return max((LONGEST_REST, *self.at_least_every.values())) if self.budget else 1
