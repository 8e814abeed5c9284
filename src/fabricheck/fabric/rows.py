"""The words of the table of counters that several drivers share, and how a row is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fabricheck.fabric.model import Counter, Meaning, Place, Rule

ABI = "Documentation/ABI/stable/sysfs-class-infiniband"
ROCE = "InfiniBand Architecture Specification 9.7 (reliable service: NAK, timeout, retry)"

LOSS = (
    "the fabric loses or reorders packets between {hosts}: look at discards and errors of the "
    "switch ports, at PFC, and at the cables"
)
RETRY = "requests between {hosts} were repeated: packets were lost, or answered too late"
RETRIES_EXCEEDED = (
    "a connection between {hosts} was given up: the peer died, its link is down, or nothing "
    "comes through"
)
NOT_READY = "the receiver had no buffer ready: the program or its CPU is late, not the fabric"
ECN = (
    "switches or adapters between {hosts} mark packets as congested: look for other traffic, "
    "incast, and the queues' thresholds"
)
PAUSE = (
    "ports between {hosts} stop each other by pause frames: look for a slow receiver and for "
    "congestion spreading"
)
STORM = "a port sent pauses without end: look for a hung receiver and at the PFC watchdog"
LINK_DOWN = "the link went down: look at cable, transceiver and the switch's log"
BITS = "bits are damaged on the wire: clean or replace cable and transceiver"
DISCARDS = "packets were dropped for lack of buffers or because the link was down"
PROGRAM = "a program's request was refused; not the fabric's fault, unless it comes each night"
CARD = "the adapter reports a fault of its own: look at its firmware and at the PCIe bus"
MTU = "a peer sends packets larger than this port's MTU: give all ports one MTU"
BLOCKED = "packets were refused by partition keys or filters: look at the subnet manager"
CNP_IGNORED = (
    "congestion notifications came and were ignored: switch on ECN on this adapter, or off on "
    "the switches"
)
TRAFFIC = "what was carried"
TWICE = "the same is counted by another counter"
GAUGE = "not a count of events"


@dataclass(frozen=True, slots=True)
class Rows:
    """Counters of one driver that are told and judged alike; the fields are those of a row."""

    driver: str
    place: Place
    meaning: Meaning
    advice: str
    source: str
    names: str
    rules: tuple[Rule, ...] = ()
    ceilings: Mapping[str, int] = field(default_factory=dict)

    def counters(self) -> Iterator[Counter]:
        """A row for each name; the names are parted by commas, since some hold blanks."""
        for name in (name.strip() for name in self.names.split(",")):
            yield Counter(
                driver=self.driver,
                place=self.place,
                name=name,
                meaning=self.meaning,
                rules=self.rules,
                advice=self.advice,
                source=self.source,
                ceiling=self.ceilings.get(name),
            )
