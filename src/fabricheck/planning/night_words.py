"""What a case of a night is called by, in the record and in a site file."""

from fabricheck.measures.registry import FAMILIES, REGISTRY
from fabricheck.record.costs import Key
from fabricheck.reframe_ext.matrix import Case
from fabricheck.transports.placement import parts
from fabricheck.transports.table import TRANSPORTS

Words = frozenset[str]


def key_of(case: Case) -> Key:
    """The key of a case in the record."""
    return Key(case.partition, case.environ, case.check, case.benchmark, case.placement)


def words_of(case: Case) -> Words:
    """What a case is called by in a site file's section ``night``."""
    words = {case.check, case.benchmark, case.placement, case.partition, case.environ, *case.tags}
    if case.benchmark in REGISTRY:
        entry = REGISTRY[case.benchmark]
        words |= {str(entry.metrics[0]), FAMILIES[entry.family].layer}
    if transport := transport_of(case):
        words.add(transport)
        if transport in TRANSPORTS:
            words |= {TRANSPORTS[transport].base, TRANSPORTS[transport].feature}
    return frozenset(words - {""})


def transport_of(case: Case) -> str:
    """The transport of a case; empty where it has none."""
    return parts(case.placement)[0] if case.placement else ""
