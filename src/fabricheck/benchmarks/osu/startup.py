"""What OSU's startup tests print: a line, no table."""

import re
from types import MappingProxyType

from fabricheck.benchmarks.curve import Curve, Point
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.model import MpiBenchmark
from fabricheck.benchmarks.parser import ParseError

_INIT = re.compile(
    r"^nprocs: (?P<ranks>\d+), min: (?P<min>\d+) ms, max: (?P<max>\d+) ms, avg: (?P<avg>\d+) ms$",
    re.ASCII | re.MULTILINE,
)
_HELLO = re.compile(r"^This is a test with (?P<ranks>\d+) processes$", re.ASCII | re.MULTILINE)


def parse(text: str, source: str, benchmark: MpiBenchmark, version: str) -> Curve:
    """The one point of a startup test: times of ``MPI_Init``, none of a hello.

    Args:
        text: the whole output.
        source: what to call the text in messages.
        benchmark: whose title the output has.
        version: OSU's.

    Raises:
        ParseError: if the line is missing, damaged or there twice.
    """
    pattern = _INIT if Metric.STARTUP in benchmark.metrics else _HELLO
    found = list(pattern.finditer(text.replace("\r\n", "\n")))
    if len(found) != 1:
        raise ParseError(
            f"{source}: expected one line with the number of ranks after the title of "
            f"{benchmark.osu_program}, found {len(found)}: the output is cut or damaged, or those "
            "of several runs were put together"
        )
    fields = found[0].groupdict()
    ranks = fields.pop("ranks")
    return Curve(
        benchmark=benchmark.name,
        program="osu",
        version=version,
        datatype=None,
        metadata=MappingProxyType({"ranks": ranks}),
        points=(
            Point(
                size=None,
                values=MappingProxyType(
                    {(Metric.STARTUP, name): float(value) for name, value in fields.items()}
                ),
                iterations=None,
                valid=None,
            ),
        ),
    )
