"""One line of the perflog: everything that history needs to know about one value.

The format is a documented interface (docs/perflog.md): fields separated by ``|``, a header line
first, one line for each performance variable of a case, empty where nothing is known.
"""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, fields

from fabricheck.errors import FabricheckError

DELIMITER = "|"


@dataclass(frozen=True, slots=True)
class Record:
    """A value with its key, its judgement and its provenance.

    Attributes:
        time: when the job ended, RFC 3339.
        level: verdict on this variable: good, warning, critical, no-reference or untrusted.
        result: ReFrame's own word for the variable: pass, fail, xfail or xpass.
        variable: ``<metric>_<statistic>_<size>``, for example ``latency_p50_1KiB``.
        size: message size in bytes, empty for a barrier.
        value: the measured value in ``unit``, empty when the case gave none.
        lower: the critical lower bound in ``unit``, empty if there is none.
        upper: the critical upper bound in ``unit``, empty if there is none.
        warning_lower: the warning bound below, in ``unit``.
        warning_upper: the warning bound above, in ``unit``.
        reference_kind: bound, ratio, measured, vendor, paper or physics.
        node_list: host names, separated by commas.
        commit: git commit of the suite, with ``+`` when the tree was changed.
        session: which run of ReFrame measured it.
        finding: why the level is not good, one sentence.
    """

    time: str
    level: str
    result: str
    system: str
    partition: str
    environment: str
    check: str
    benchmark: str
    transport: str
    placement: str
    nodes: str
    ranks: str
    variable: str
    metric: str
    statistic: str
    size: str
    value: str
    unit: str
    reference: str
    lower: str
    upper: str
    warning_lower: str
    warning_upper: str
    reference_kind: str
    mpi: str
    mpi_version: str
    ucx_version: str
    program: str
    program_version: str
    job_id: str
    node_list: str
    commit: str
    session: str
    finding: str

    def line(self) -> str:
        """The record as one line, with its newline; newlines inside a field become blanks."""
        values = (" ".join(str(getattr(self, name)).split()) for name in FIELDS)
        return _join(values)


FIELDS = tuple(field.name for field in fields(Record))


def _join(values: Iterable[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=DELIMITER, lineterminator="\n").writerow(values)
    return buffer.getvalue()


HEADER = _join(FIELDS)


def read_line(line: str, where: str) -> Record:
    """The record of a line.

    Args:
        line: the line.
        where: file and line number, for the message.

    Raises:
        FabricheckError: if the number of fields is not the format's.
    """
    values = next(csv.reader([line], delimiter=DELIMITER), [])
    if len(values) != len(FIELDS):
        raise FabricheckError(
            f"{where}: expected {len(FIELDS)} fields separated by '{DELIMITER}', found "
            f"{len(values)}: the line is damaged or of another format; remove it"
        )
    return Record(*values)
