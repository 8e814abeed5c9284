"""How rdma_batch is run: sweeps of batches, and comparisons inside one job."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fabricheck.launch import pair
from fabricheck.launch.cases import Case
from fabricheck.launch.measurement import Evidence, Job, Setting
from fabricheck.launch.verbs import address, flat, ports, wrong_mtu
from fabricheck.measures.budget import iterations
from fabricheck.measures.curve import Curve
from fabricheck.measures.parser import check_complete
from fabricheck.nodes.pcie import shared_links
from fabricheck.nodes.told import files, read_told
from fabricheck.programs.perftest import read as perftest
from fabricheck.programs.perftest.launch import perftest_options
from fabricheck.programs.rdma_batch import in_turns
from fabricheck.programs.rdma_batch import read as rdma_batch
from fabricheck.programs.rdma_batch.entries import COMPARISONS, SWEEPS, Comparison, Sweep
from fabricheck.programs.rdma_batch.table import TransferRow
from fabricheck.sites.extras import PartitionExtras
from fabricheck.sites.files import SEVERAL
from fabricheck.transports.proof import Proof, prove_packets
from fabricheck.transports.witness import Witness

_LONGEST_RUN = 240
"""Seconds of one run; the job's time limit must leave room beside it."""

_PATIENCE = 60
"""Seconds that one end waits for the other, on a busy machine."""

_SINGLE_BATCHES, _BATCHES, _FEWEST_BATCHES = 1000, 128, 10
"""Batches of one transfer and of many where time is no matter, and the fewest anywhere."""

cases = pair.cases


def rdma_batch_options(extras: PartitionExtras, devices: int, first: int = 0) -> list[str]:
    """Options of rdma_batch: so many ports of each node, or as many as the site names."""
    named = [":".join(filter(None, port)) for port in ports(extras)][first : first + devices]
    given = {
        "--dev": ",".join(named) or None,
        "--num-initiator-dev": len(named),
        "--num-target-dev": len(named),
        "--wait": _PATIENCE,
    }
    return [*address(extras, "--gid-index", "--mtu", "--sl"), *flat(given)]


def measurement(case: Case) -> "BatchSweep | BatchComparison":
    """How a case is measured."""
    if entry := COMPARISONS.get(case.benchmark):
        kind = CardsTogether if SEVERAL in entry.needs else BatchComparison
        return kind(case, entry)
    return BatchSweep(case, SWEEPS[case.benchmark])


class BatchSweep(pair.Pair):
    """One sweep: latency and bandwidth of whole batches, where perftest runs too.

    Partition extras that are read beside those of every pair, here and in a comparison:
    ``ucx_net_devices`` (its ``rdma`` names the ports of a node), ``gid_index``, ``fabric_health``
    (its ``mtu``); and for slow fabrics ``time_budget`` in seconds for each row, ``typical`` and
    ``size_step``, as for perftest.
    """

    def __init__(self, case: Case, entry: Sweep) -> None:
        super().__init__(case, entry, "verbs")
        self._entry = entry
        # Small transfers of a sweep of batches need not fill a link.
        self.has_links = not entry.transfer

    def job(self, setting: Setting) -> Job:
        """One run, whose table goes to the error output."""
        transfer = self._entry.transfer
        numbers = ",".join(str(size // (transfer or 1)) for size in self.sizes(setting))
        swept = ("--all-batch", "--batches") if transfer else ("--all", "--sizes")
        # A single number would be the end of a range.
        listed = numbers if "," in numbers else f"{numbers}:{numbers}"
        own = _own_options(setting.extras, self._entry.most_devices)
        return pair.start(
            setting,
            setting.programs.program(self._entry.program),
            [*self._entry.options, *swept, listed, *own],
            [("--json", "-")],
            limit=_LONGEST_RUN,
        )

    def examine(self, setting: Setting) -> Evidence:
        """What the initiator printed, and the packets of the ports."""
        rows: list[TransferRow] = []

        def read(outputs: Sequence[str]) -> Curve:
            """The curve of the slowest initiator."""
            (text,) = outputs
            source = f"the initiator's output in {setting.stdout}"
            output = rdma_batch.read_result(text, source)
            curve = rdma_batch.curve(output, self._entry.name, by_total=bool(self._entry.transfer))
            check_complete(curve, self.sizes(setting), source)
            rows.extend(row for table in output.tables for row in table)
            return curve

        def prove(curve: Curve, witnesses: Sequence[Witness]) -> Proof:
            """What the program says that it used, and the packets of the ports."""
            reads = "read" in self._entry.options
            mtu = rdma_batch.path_mtu(curve.metadata)
            packets = _moved(setting.extras, rows, witnesses, mtu, reads=reads)
            said = curve.metadata
            used = ", ".join(f"{key} {said.get(key, 'none')}" for key in _USED)
            unchecked = () if said.get("validate") == "True" else (_UNCHECKED,)
            return Proof(
                f"rdma_batch used {used}; {packets.evidence}", (*packets.objections, *unchecked)
            )

        explain = partial(_explain, setting.extras)
        return pair.examine(self, setting, 1, read=read, prove=prove, explain=explain)


class BatchComparison(pair.Pair):
    """One comparison: both programs take turns in one job, and their medians are divided.

    On a busy machine such a ratio means something where times don't.
    """

    def __init__(self, case: Case, entry: Comparison) -> None:
        super().__init__(case, entry, "verbs")
        self._entry = entry

    def job(self, setting: Setting) -> Job:
        """The other program and ours in turns, at each size; they share no options."""
        runs = [turn.words for turn in self._turns(setting)]
        return pair.start(setting, "env", (), runs, limit=_LONGEST_RUN)

    def examine(self, setting: Setting) -> Evidence:
        """The ratios, and the packets of our runs; those of the other program come on top."""
        turns = self._turns(setting)
        both: list[in_turns.Sides] = []

        def read(outputs: Sequence[str]) -> Curve:
            source = f"the output in {setting.stdout}"
            both.append(in_turns.read(self._entry, turns, outputs, source))
            return in_turns.ratios(self._entry, both[0])

        def prove(curve: Curve, witnesses: Sequence[Witness]) -> Proof:
            (sides,), reads = both, "read" in self._entry.options
            return _moved(setting.extras, sides.rows, witnesses, sides.mtu, reads=reads)

        explain = partial(_explain, setting.extras)
        found = pair.examine(self, setting, len(turns), read=read, prove=prove, explain=explain)
        return replace(found, disturbances=perftest.disturbances(setting.text(setting.stderr)))

    def _turns(self, setting: Setting) -> list[in_turns.Turn]:
        return in_turns.turns(self._entry, self.sizes(setting), self._how(setting))

    def _how(self, setting: Setting, first: int = 0, devices: int = 1) -> in_turns.Setting:
        extras = setting.extras
        return in_turns.Setting(
            program=setting.programs.program("rdma_batch"),
            own_options=_own_options(extras, devices, first),
            perftest_options=perftest_options(extras, "RC"),
            count=partial(self._count, extras),
        )

    def _count(self, extras: PartitionExtras, size: int) -> int:
        """Batches of a run, or as many as fit into the time budget."""
        if extras.time_budget is None:
            return _SINGLE_BATCHES if self._entry.batch == 1 else _BATCHES
        fitting = iterations(size, extras.time_budget, extras.typical)
        return max(_FEWEST_BATCHES, fitting // self._entry.batch)


class CardsTogether(BatchComparison):
    """All cards of a node at once, beside the sum of what each moves alone in the same job.

    Where that is less, the PCIe links that some of them share are named.
    """

    def examine(self, setting: Setting) -> Evidence:
        """As of every comparison, with the links that cards share."""
        found = super().examine(setting)
        if not found.curve:
            return found
        told = (each for path in files(setting.stage) for each in read_told(path)[:1])
        links = [f"{each.host}: {words}" for each in told for words in shared_links(each)]
        words = "; ".join(links) or "no PCIe link that they share is known"
        words = f"{found.curve.metadata[in_turns.PARTS]}; {words}"
        curve = replace(found.curve, metadata={in_turns.PARTS: words})
        return replace(found, curve=curve, proof=f"{found.proof}; {words}")

    def _turns(self, setting: Setting) -> list[in_turns.Turn]:
        named = setting.extras.ports
        alone = [(name, number, 1) for number, name in enumerate(named)]
        return [
            in_turns.Turn(
                is_own=not part,
                size=size,
                words=in_turns.own(
                    self._entry, self._entry.options, size, self._how(setting, first, devices)
                ),
                part=part,
            )
            for _ in range(in_turns.ROUNDS)
            for size in self.sizes(setting)
            for part, first, devices in (*alone, ("", 0, len(named)))
        ]


_USED = ("devices", "mtu", "gid_index")
_UNCHECKED = (
    "expected data that were compared, found that they were not: the program ran with --no-validate"
)


def _own_options(extras: PartitionExtras, devices: int, first: int = 0) -> list[str]:
    options = rdma_batch_options(extras, devices, first)
    return [*options, *flat({"--time-budget": extras.time_budget})]


def _explain(extras: PartitionExtras, words: str) -> str | None:
    """The cause that the words of both ends name."""
    if "/rdma_batch on PATH of" in words:
        return (
            "expected rdma_batch to be built, found that it was not: install libibverbs-dev "
            "(Debian) or rdma-core's headers where the suite builds its programs"
        )
    return perftest.cause(words, extras.gid_index)


def _moved(
    extras: PartitionExtras,
    rows: Sequence[TransferRow],
    witnesses: Sequence[Witness],
    used: int,
    *,
    reads: bool,
) -> Proof:
    """The packets that the nodes must have sent for these rows.

    The initiator of writes sends the data, that of reads one request each; the target of reads
    answers with the data. The path MTU that the connection used must be the one asked for.
    """
    if objection := wrong_mtu(extras, used):
        return Proof(f"rdma_batch used mtu {used}", (objection,))
    requests = sum(row.batch * (row.iterations or 0) for row in rows)
    data = sum(-(-row.size // used) * row.batch * (row.iterations or 0) for row in rows)
    least = (data, requests) if reads else (0, data)
    devices = ports(extras)
    only = ":".join(filter(None, devices[0])) if len(devices) == 1 else ""
    return prove_packets(least, witnesses, only)
