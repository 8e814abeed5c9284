"""The night of a system as its site file, its checks, its record and its history have it."""

from dataclasses import replace
from pathlib import Path

from fabricheck.planning.night import NightPlan, plan_night
from fabricheck.planning.night_past import read_past_nights
from fabricheck.planning.plan import LeftOut, Plan, make
from fabricheck.provenance import folders, home
from fabricheck.reframe_ext.matrix import Case
from fabricheck.sites.night import KEY, NightSettings
from fabricheck.transports.placement import parts
from fabricheck.trend.settings import read_section

NIGHTLY = "nightly"


def choose(
    suite: Path,
    system: str,
    benchmarks: tuple[str, ...] = (),
    transports: tuple[str, ...] = (),
) -> NightPlan | None:
    """The cases of tonight; ``None`` where the site's nights have no budget.

    Args:
        suite: root of the suite.
        system: name of the system.
        benchmarks: only these; empty for all.
        transports: only these; empty for all.

    Raises:
        FabricheckError: for an unknown system, a bad site file, a check that can't be loaded, or a
            record or history that can't be read.
    """
    sites = folders("sites", suite)
    settings = read_section(sites, [system], KEY, NightSettings)[system]
    if not settings.budget:
        return None
    made = make(suite, system, [NIGHTLY])
    wanted = _with_needs(
        made, [each for each in made.cases if _is_wanted(each, benchmarks, transports)]
    )
    others = [LeftOut(each, "not asked for") for each in made.cases if each not in wanted]
    place = home(suite)
    past = read_past_nights(place / "perflogs", system, place / "reports" / "history", sites)
    asked: Plan = replace(made, cases=tuple(wanted), left_out=(*made.left_out, *others))
    return plan_night(asked, settings, past)


def _with_needs(made: Plan, wanted: list[Case]) -> list[Case]:
    """The cases, and those that they wait for, which ReFrame runs whatever else was asked for."""
    others = (each.case for each in made.left_out if not each.case.lacking)
    known = {(each.name, each.partition, each.environ): each for each in (*made.cases, *others)}
    needed = [known[name, each.partition, each.environ] for each in wanted for name in each.needs]
    return list(dict.fromkeys([*wanted, *needed]))


def _is_wanted(case: Case, benchmarks: tuple[str, ...], transports: tuple[str, ...]) -> bool:
    transport = parts(case.placement)[0] if case.placement else ""
    return (not benchmarks or case.benchmark in benchmarks) and (
        not transports or transport in transports
    )
