"""What the checks of perftest inherit: sizes and iterations, proof by settings and packets."""

from collections.abc import Mapping, Sequence

from reframe.core.builtins import run_after, run_before
from reframe.core.exceptions import ReframeError

from fabricheck.benchmarks.budget import iterations, thin
from fabricheck.benchmarks.curve import Curve
from fabricheck.benchmarks.parser import check_complete
from fabricheck.benchmarks.perftest import read as perftest
from fabricheck.benchmarks.perftest import table as perftest_table
from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import worst
from fabricheck.judge.link_rate import (
    Link,
    Rate,
    above_ceiling,
    ceiling,
    fills_link,
    judge_share,
    read_rate,
)
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict
from fabricheck.reframe_ext.pair import PairBenchmark
from fabricheck.reframe_ext.verbs_options import mtu, perftest_options, ports
from fabricheck.transports.proof import Proof
from fabricheck.transports.verbs import prove_packets
from fabricheck.transports.witness import Witness
from fabricheck.units import MIB

_ALL_SIZES = 8 * MIB
"""The largest size of perftest's own sweep (``-a``), which can't be told to end earlier."""

_WHOLE_SWEEP = ("-a",)

_SLOWEST_SWEEP = 240
"""Seconds; the job's time limit must leave room for the start of both ends beside it."""

_LEAST_MTU = 1024
"""Payload of a datagram that any port can send."""


class Perftest(PairBenchmark):
    """One benchmark of the family ``verbs`` on one placement.

    Partition extras that are read beside those of every pair: ``ucx_net_devices`` (its ``rdma``
    names device and port), ``gid_index``, ``fabric_health`` (its ``mtu``), ``link_rate`` and
    ``link_shares``; and for slow fabrics ``time_budget`` with ``typical``, as for ucx_perftest, and
    ``size_step`` (each size is so many times the one before).

    Without a time budget one run measures every size with perftest's own iterations. With one, or
    where ``max_message_size`` cuts the sweep, each size has a run of its own.
    """

    @run_after("setup")
    def read_link_rate(self) -> None:
        """Refuse shares that make no sense before anything runs."""
        try:
            read_rate(self.current_partition.extras)
        except FabricheckError as error:
            raise ReframeError(str(error)) from None

    @run_before("run")
    def set_up_pair(self) -> None:
        """Both ends must be of the same version; a run with every size may take longer."""
        self.env_vars["FABRICHECK_PAIR_VERSION"] = "--version"
        if self.runs() == [_WHOLE_SWEEP]:
            self.env_vars["FABRICHECK_PAIR_LIMIT"] = str(_SLOWEST_SWEEP)

    def sizes(self) -> tuple[int, ...]:
        """The sizes in bytes; datagrams end at the MTU, a sparse sweep leaves sizes out."""
        sizes = super().sizes()
        if self._is_datagram:
            sizes = tuple(size for size in sizes if size <= (self._mtu or _LEAST_MTU))
        return thin(sizes, self.current_partition.extras.get("size_step"))

    def common_options(self) -> Sequence[str]:
        """What makes the program this benchmark, on this port, over this connection."""
        return [
            *self._entry.options,
            *perftest_options(self.current_partition.extras, self._connection),
        ]

    def runs(self) -> Sequence[Sequence[str]]:
        """One run with every size, or one for each."""
        budget = self.current_partition.extras.get("time_budget")
        sizes = self.sizes()
        if budget is None and sizes[-1] == _ALL_SIZES and len(sizes) == len(super().sizes()):
            return [_WHOLE_SWEEP]
        return [
            (
                *(() if len(sizes) == 1 else ("-s", str(size))),
                *(() if budget is None else ("-n", str(self._iterations(size, budget)))),
            )
            for size in sizes
        ]

    def read(self, outputs: Sequence[str]) -> Curve:
        """The curve of all runs.

        Raises:
            FabricheckError: if it is damaged or lacks a size.
        """
        source = f"the client's output in {self.stdout}"
        curve = perftest.parse_runs(outputs, source)
        check_complete(curve, self.sizes(), source)
        return perftest.confirm(curve, self._entry, self._asked(), source)

    def prove_transport(self, curve: Curve, witnesses: Sequence[Witness]) -> Proof:
        """What perftest says that it used, and the packets that each port has sent."""
        device = ":".join(filter(None, self._port))
        packets = prove_packets(perftest.least_packets(curve), witnesses, device)
        return Proof(
            f"perftest used {perftest.used(curve)}; {packets.evidence}",
            (
                *packets.objections,
                *(above_ceiling(curve, self._ceilings(curve)) if self._rate else ()),
            ),
        )

    def links(self) -> None:
        """None: perftest names link layer and MTU itself, so its proof and verdict know better."""

    def find_verdict(
        self, references: Mapping[str, Reference], tolerance: Tolerance | None
    ) -> Verdict:
        """The verdict on the curve, and on the share of the link that it uses."""
        verdict = super().find_verdict(references, tolerance)
        curve, rate = self._curve, self._rate
        if rate is None or curve is None or not fills_link(curve):
            return verdict
        level, finding = judge_share(curve, self._ceilings(curve), rate)
        if not finding:
            return verdict
        return Verdict(
            worst([verdict.level, level]), verdict.judgements, (*verdict.findings, finding)
        )

    def explain(self, words: str) -> str | None:
        """The cause that perftest's own words name."""
        return perftest.cause(words, self.current_partition.extras.get("gid_index"))

    @property
    def _connection(self) -> str:
        return str(self.transport).upper()

    @property
    def _is_datagram(self) -> bool:
        return bool(self.transport == "ud")

    @property
    def _port(self) -> tuple[str, str]:
        """Device and port; empty where each node has its own."""
        return ports(self.current_partition.extras)[0]

    @property
    def _rate(self) -> Rate | None:
        return read_rate(self.current_partition.extras)

    @property
    def _mtu(self) -> int | None:
        return mtu(self.current_partition.extras)

    def _asked(self) -> dict[str, str]:
        """What perftest must say that it used."""
        extras = self.current_partition.extras
        asked = {perftest_table.CONNECTION: self._connection}
        if "gid_index" in extras:
            asked[perftest_table.GID_INDEX] = str(extras["gid_index"])
        if self._mtu:
            asked[perftest_table.MTU] = str(self._mtu)
        if self._port[0]:
            asked[perftest_table.DEVICE] = self._port[0]
        return asked

    def _ceilings(self, curve: Curve) -> dict[int, float]:
        """The most payload that the link can carry at each size, in MB/s."""
        rate = self._rate
        assert rate is not None, "without a rate nothing has a ceiling"
        return {
            size: ceiling(
                rate.gigabits,
                size,
                int(curve.metadata[perftest_table.MTU]),
                Link(curve.metadata[perftest_table.LINK]),
                datagram=self._is_datagram,
                directions=2 if "-b" in self._entry.options else 1,
            )
            for size in self.sizes()
        }

    def _iterations(self, size: int, budget: float) -> int:
        typical = self.current_partition.extras.get("typical", {})
        count = iterations(size, budget, **typical)
        # A list of requests is posted as a whole.
        posted = perftest.posted_at_once(self._entry)
        return max(1, count // posted) * posted
