"""What streams must not do, whatever their rate: lose messages, share a link unevenly."""

from fabricheck.judge.levels import Level, worst
from fabricheck.judge.verdict import Subject, Verdict
from fabricheck.programs.rdma_stream.entries import BENCHMARKS
from fabricheck.programs.rdma_stream.read import MISSED, UNEVEN
from fabricheck.units import share


def refine(verdict: Verdict, subject: Subject) -> Verdict:
    """The verdict with lost messages, and with streams that share a link unevenly, before all."""
    found = stream_findings(subject)
    level = worst([verdict.level, *(level for level, _ in found)])
    return Verdict(level, verdict.judgements, (*(each for _, each in found), *verdict.findings))


def stream_findings(subject: Subject) -> list[tuple[Level, str]]:
    """What is wrong with the streams, gravest first.

    Args:
        subject: a curve of ``rdma_stream``; of the extras ``stream_share`` is read, and for
            datagrams ``stream_loss``.
    """
    findings = []
    curve, extras = subject.curve, subject.extras
    missed, apart = curve.metadata[MISSED], float(curve.metadata[UNEVEN])
    number, total = map(int, missed.split(" of "))
    allowed = extras.stream_loss if BENCHMARKS[curve.benchmark].method == "udp" else 0.0
    most = f"at most {share(allowed)} of the messages lost" if allowed else "no lost message"
    if number > allowed * total:
        findings.append(
            (
                Level.CRITICAL,
                f"expected {most}, found {missed} lost: look at the ports' counters, and at the "
                "receivers' CPUs where nothing repeats what is lost",
            )
        )
    if apart > extras.stream_share:
        findings.append(
            (
                Level.WARNING,
                "expected streams into one receiver to share the link within "
                f"{share(extras.stream_share)} of their mean, found one {share(apart)} away: one "
                "of the paths is slower",
            )
        )
    return findings
