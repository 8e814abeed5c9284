"""The verbs of a stress: start it, stop it, look at it, run one iteration."""

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from fabricheck.errors import FabricheckError
from fabricheck.fabric.job import describe, read_nodes
from fabricheck.fabric.limits import read_limits
from fabricheck.provenance import SUITE, home
from fabricheck.record.entries import CaseEntry
from fabricheck.reframe_ext.config import find_system
from fabricheck.report.files import write_whole
from fabricheck.schedulers import to_copy
from fabricheck.schedulers.protocol import UNKNOWN, Phase, Standing
from fabricheck.sites.extras import PartitionExtras, StressExtra
from fabricheck.stress.judged import COUNTED, links_of, results, settle, words_of
from fabricheck.stress.mix import PAGE, Mix, read_mixes
from fabricheck.stress.plan import make_plan
from fabricheck.stress.state import (
    StressDirectory,
    StressState,
    dead_nodes,
    job_script,
    places,
    scheduler_for,
)
from fabricheck.stress.turns import coverage, submit
from fabricheck.stress.work import PERFLOGS
from fabricheck.transports.placement import Placement
from fabricheck.units import seconds_of

REPORTS: Final = home() / "reports"
_POLL: Final = 0.5
_LONGEST: Final = 86400.0
"""Seconds; one iteration may wait for its turn as long as it lasts."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What an operator asks for; what is empty or 0 the site file says.

    Attributes:
        system: of ``sites/``.
        name: what to call the stress.
        partition: which one, where several allow stress.
        mix: name of a mix, or a file.
        seconds: how long.
        duty: share of the time in which blocks run.
        exclude: nodes to leave out.
        placement: transport and nodes, where the site's own is not meant.
        on_bad_node: a shell command for each node that is left out as dead.
        forget: whether nodes that the last stress found dead are taken again.
        most_iterations: after how many iterations it ends; 0 for no limit.
    """

    system: str
    name: str = ""
    partition: str = ""
    mix: str = ""
    seconds: float = 3600.0
    duty: float = 1.0
    exclude: Sequence[str] = ()
    placement: str = ""
    on_bad_node: str = ""
    forget: bool = False
    most_iterations: int = 0


def place_of(name: str, reports: Path = REPORTS) -> StressDirectory:
    """The place of a stress by its name; without one, of the only one there is, or that goes on.

    Raises:
        FabricheckError: if there is none, or several and no name.
    """
    started = places(reports)
    if not started:
        raise FabricheckError(
            "FC2301 No stress is running. Start one with 'fabricheck stress start'."
        )
    matching = [each for each in started if each.name == name] if name else started
    if len(matching) > 1:
        matching = [each for each in matching if not each.state().ended] or matching
    if len(matching) != 1:
        names = ", ".join(each.name for each in started) or "none"
        raise FabricheckError(
            f"FC2302 expected a stress that was started ({names}), found {name or 'no name'!r}: "
            "start one, or name one with --name"
        )
    return matching[0]


def standing_of(place: StressDirectory) -> tuple[StressState, Standing]:
    """The state of a stress, and what the scheduler says of its job.

    Raises:
        FabricheckError: if the scheduler does not answer.
    """
    state = place.state()
    if state.ended or not state.session:
        return state, Standing(Phase.GONE, state.why)
    scheduler = scheduler_for(place.read_plan())
    # Who submitted it may have died before it could write the number down.
    if not state.job and (job := scheduler.running(place.job_name)):
        state = place.change(job=job)
    return state, scheduler.standing(place.job_name, state.job)


def start(wish: Wish, tell: Tell) -> StressDirectory:
    """Start a stress.

    Raises:
        FabricheckError: if the site does not allow it, one of that name runs, or it can't be
            planned or submitted.
    """
    partition, says = _partition(wish)
    mixes, hours = read_mixes(wish.mix or says.mix)
    _check_length(wish, says)
    if not _NAME.fullmatch(wish.name or wish.system):
        raise FabricheckError(
            "FC2303 expected a name of letters, digits, '.', '_' and '-' that begins with a "
            f"letter or a digit, found {wish.name!r}: choose one"
        )
    place = StressDirectory(REPORTS / "stress" / (wish.name or wish.system))
    with place.alone("start") as lock:
        request = _request(wish, partition, says, mixes) | {"hours": hours}
        _refuse_second(place, request)
        close(place)
        before = place.state()
        dead = {} if wish.forget else _dead(place, place.recent(before.session))
        for node, why in dead.items():
            tell(f"left out: {node}: {why}; to keep users off it: {to_copy([node], why)[-1]}")
        blocks = len(request["blocks"])
        tell(f"planning {blocks} blocks of {request['mix']}; programs are built if need be")
        place.write_plan(make_plan(SUITE, place.path / "planning", request, lock))
        place.stop_request.unlink(missing_ok=True)
        place.rotate()
        now = time.time()
        session = f"stress-{place.name}-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}"
        state = StressState(session=session, started=now, dead=dead)
        place.change(**asdict(replace(state, tried=before.tried, measured=before.measured)))
        write_whole(place.path / "job.sh", job_script(place.path))
        job = submit(place, scheduler_for(place.read_plan()))
        tell(
            f"stress {place.name}: job {job}, {wish.seconds / 60:.3g} min of {request['mix']} on "
            f"{request['placement']} with {request['environ']}; stop it with "
            f"'fabricheck stress stop --name {place.name}'"
        )
    return place


def stop(place: StressDirectory, tell: Tell, *, now: bool = False) -> None:
    """End a stress after the block under way, or at once, and wait for the end of its job.

    Raises:
        FabricheckError: if the scheduler does not answer, or the job does not end in time.
    """
    state, standing = standing_of(place)
    if standing.phase is Phase.GONE:
        close(place)
        tell(f"stress {place.name} is not running: {place.state().why}")
        return
    plan = place.read_plan()
    scheduler = scheduler_for(plan)
    place.stop_request.touch()
    if not now:
        tell(f"job {state.job} ends after the block under way")
    scheduler.stop(place.job_name, state.job, now=now)
    wait_for_end(place, plan["block_limit"] + 60)
    close(place, "a stop was asked for")
    tell(f"stress {place.name} has ended: {place.state().why}")


def wait_for_end(place: StressDirectory, seconds: float) -> None:
    """Wait until the scheduler knows the job no longer, which is later than its last block.

    A job that hands over meanwhile has another one behind it, which ends before its first block.

    Raises:
        FabricheckError: if it still does after so many seconds.
    """
    scheduler = scheduler_for(place.read_plan())
    limit = time.monotonic() + seconds
    while scheduler.standing(place.job_name, job := place.state().job).phase is not Phase.GONE:
        if time.monotonic() > limit:
            raise FabricheckError(
                f"FC2304 expected job {job} to end within {seconds:g} s, found it running: "
                "end it with 'fabricheck stress stop --now'"
            )
        time.sleep(_POLL)


def close(place: StressDirectory, why: str = "") -> None:
    """Bring the record of a stress to its end whose job is gone, also if something killed it."""
    state, standing = standing_of(place)
    if not state.session or standing.phase is not Phase.GONE:
        return
    settle(place, state.session, PERFLOGS, ended=True)
    if not state.ended:
        place.change(ended=time.time(), why=why or _gone(standing))


def once(wish: Wish, tell: Tell) -> tuple[bool, Path, str]:
    """Run one iteration, and wait for it.

    Returns:
        Whether every block is good or a warning, the file with the results, and its text.

    Raises:
        FabricheckError: as of ``start``.
    """
    place = start(wish, tell)
    wait_for_end(place, _LONGEST)
    close(place)
    blocks = place.read(place.state().session)
    text = results(place, blocks)
    path = place.path / f"once-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.txt"
    write_whole(path, text)
    planned = len(place.read_plan()["blocks"])
    passed = len(blocks) == planned and all(each.result == "pass" for each in blocks)
    return passed, path, text


def status(place: StressDirectory) -> dict[str, Any]:
    """What a stress is doing, as data."""
    state, standing = standing_of(place)
    plan, blocks = place.read_plan(), place.read(state.session)
    is_gone = standing.phase is Phase.GONE
    return {
        "name": place.name,
        "phase": str(standing.phase),
        "why": state.why or state.paused or (_gone(standing) if is_gone else standing.why),
        "job": state.job,
        "nodes": standing.nodes,
        "restarts": state.restarts,
        "iteration": max((each.repeat or 0 for each in blocks), default=0),
        "blocks": dict(Counter(each.level for each in blocks)),
        "until": state.until,
        "last": [f"{each.id} {words_of(each)}" for each in blocks[-5:]],
        "links": links_of(plan, blocks[-1]) if blocks else {},
        "dead": _dead(place, blocks),
        "coverage": coverage(plan, state, state.ended or time.time()),
    }


def servers(place: StressDirectory) -> dict[str, Any]:
    """The nodes of the last block, their ports, and marks and pauses a second of the worst port.

    Raises:
        FabricheckError: if there is no block yet, or the scheduler does not answer.
    """
    state, _ = standing_of(place)
    blocks = place.recent(state.session)
    if not blocks:
        raise FabricheckError(
            f"FC2305 expected a block of stress {place.name}, found none yet: wait"
        )
    last, plan = blocks[-1], place.read_plan()
    states = scheduler_for(plan).known_states()
    limits = read_limits(PartitionExtras.of(plan["blocks"][0]["setting"]["extras"]))
    return {
        "nodes": {node: states.get(node, "no scheduler") for node in last.nodes},
        "ranks": last.ranks_per_node,
        "ports": list(describe([node.after for node in read_nodes(Path(last.output))], limits)),
        "links": links_of(plan, last),
        "rates": {each.metric: each.value for each in last.samples if each.metric in COUNTED},
    }


def _partition(wish: Wish) -> tuple[dict[str, Any], StressExtra]:
    _, system = find_system(SUITE, wish.system)
    allowed: dict[str, tuple[dict[str, Any], StressExtra]] = {
        each["name"]: (each, stress)
        for each in system["partitions"]
        if (stress := PartitionExtras.of(each.get("extras")).stress)
    }
    if not allowed:
        raise FabricheckError(
            f"FC2306 expected a partition of system {wish.system} whose extras have 'stress' in "
            "its site file, found none: the operators of the system must allow stress there "
            f"(docs/reference/sites.md, {PAGE})"
        )
    if wish.partition not in allowed and (wish.partition or len(allowed) > 1):
        raise FabricheckError(
            f"FC2307 expected a partition that allows stress ({', '.join(allowed)}), found "
            f"{wish.partition or 'none'!r}: name one with --partition"
        )
    return allowed[wish.partition] if wish.partition else next(iter(allowed.values()))


def _check_length(wish: Wish, says: StressExtra) -> None:
    most = seconds_of(says.longest)
    if wish.seconds > most:
        raise FabricheckError(
            f"FC2308 expected at most {most:g} s of stress, which the site file allows "
            f"(stress.longest), found {wish.seconds:g}: ask for less"
        )
    if not 0 < wish.duty <= 1:
        raise FabricheckError(f"FC2309 expected a duty above 0 and up to 1, found {wish.duty:g}")


def _request(
    wish: Wish, partition: dict[str, Any], says: StressExtra, mixes: Sequence[Mix]
) -> dict[str, Any]:
    allowed = Placement.read(says.placement)
    place = Placement.read(wish.placement or says.placement)
    if place.num_nodes > allowed.num_nodes:
        raise FabricheckError(
            f"FC3505 expected at most {allowed.num_nodes} nodes, which the site file allows "
            f"(stress.placement), found {place}: ask for fewer with --placement"
        )
    lacking = [each for each in place.features if each not in partition.get("features", ())]
    if says.environ not in partition["environs"]:
        lacking.append(f"environment {says.environ}")
    if lacking:
        raise FabricheckError(
            f"FC2310 expected partition {partition['name']} to offer what its stress names, found "
            f"no {' and no '.join(lacking)}: correct stress in the site file"
        )
    firsts = accumulate((len(each.blocks) for each in mixes), initial=0)
    return {
        "system": wish.system,
        "partition": partition["name"],
        "scheduler": partition["scheduler"],
        "environ": says.environ,
        "placement": str(place),
        "nodes": place.num_nodes,
        "options": says.options,
        "seconds": wish.seconds,
        "duty": wish.duty,
        "every": seconds_of(says.every),
        "exclude": sorted(wish.exclude),
        "on_bad_node": wish.on_bad_node,
        "most_iterations": wish.most_iterations,
        "mix": " and ".join(f"mix {each.name}" for each in mixes),
        "mixes": [
            {"name": each.name, "first": first, "count": len(each.blocks), "pause": each.pause}
            for first, each in zip(firsts, mixes, strict=False)
        ],
        "pause": max(each.pause for each in mixes),
        "block_limit": max(each.block_limit for each in mixes),
        "blocks": [asdict(block) for each in mixes for block in each.blocks],
    }


def _refuse_second(place: StressDirectory, request: dict[str, Any]) -> None:
    state, standing = standing_of(place)
    job = scheduler_for(request).running(place.job_name)
    if standing.phase is not Phase.GONE:
        job = job or state.job
    if job:
        raise FabricheckError(
            f"FC2311 expected no stress {place.name} that waits or runs, found job {job}: stop it "
            f"with 'fabricheck stress stop --name {place.name}', or give this one another --name"
        )


def _gone(standing: Standing) -> str:
    return f"its job is gone ({standing.why or 'killed'})"


def _dead(place: StressDirectory, blocks: Sequence[CaseEntry]) -> dict[str, str]:
    """The nodes not to take again; where the scheduler does not answer, those with dead ports."""
    try:
        scheduler = scheduler_for(place.read_plan())
    except FabricheckError:
        scheduler = UNKNOWN
    state = place.state()
    nodes = {*state.measured, *(node for each in blocks for node in each.nodes)}
    return {**state.dead, **dead_nodes(nodes, blocks, scheduler, scheduler.known_states())}
