"""What streams must not do, whatever their rate: lose messages, share a link unevenly."""

from fabricheck.benchmarks.curve import Curve
from fabricheck.benchmarks.rdma_stream.entries import BENCHMARKS
from fabricheck.benchmarks.rdma_stream.read import MISSED, UNEVEN
from fabricheck.judge.levels import Level, worst
from fabricheck.judge.verdict import Subject, Verdict
from fabricheck.units import share

EVEN = 0.05
"""How far streams that share a link may lie from their mean, as a share."""


def refine(verdict: Verdict, subject: Subject) -> Verdict:
    """The verdict with lost messages, and with streams that share a link unevenly, before all."""
    found = stream_findings(
        subject.curve,
        even=subject.extras.stream_share,
        lost=subject.extras.stream_loss,
    )
    level = worst([verdict.level, *(level for level, _ in found)])
    return Verdict(level, verdict.judgements, (*(each for _, each in found), *verdict.findings))


def stream_findings(
    curve: Curve, *, even: float = EVEN, lost: float = 0.0
) -> list[tuple[Level, str]]:
    """What is wrong with the streams, gravest first.

    Args:
        curve: of a benchmark of ``rdma_stream``.
        even: how far the rate of a stream may lie from the mean of its receiver's, as a share.
        lost: share of datagrams that may be lost; of messages that are repeated none may be.
    """
    findings = []
    missed, apart = curve.metadata[MISSED], float(curve.metadata[UNEVEN])
    number, total = map(int, missed.split(" of "))
    allowed = lost if BENCHMARKS[curve.benchmark].method == "udp" else 0.0
    most = f"at most {share(allowed)} of the messages lost" if allowed else "no lost message"
    if number > allowed * total:
        findings.append(
            (
                Level.CRITICAL,
                f"expected {most}, found {missed} lost: look at the ports' counters, and at the "
                "receivers' CPUs where nothing repeats what is lost",
            )
        )
    if apart > even:
        findings.append(
            (
                Level.WARNING,
                f"expected streams into one receiver to share the link within {share(even)} of "
                f"their mean, found one {share(apart)} away: one of the paths is slower",
            )
        )
    return findings
