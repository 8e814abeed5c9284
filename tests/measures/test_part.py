from types import ModuleType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.judge.verdict import JUDGE
from fabricheck.launch.cases import LAUNCH, PLACES
from fabricheck.measures import registry
from fabricheck.measures.parser import CONFIRMER, RESULTS, TEXT
from fabricheck.measures.part import Part
from fabricheck.report.phases import PAGE

PARTS = {"judge": JUDGE, "launch": LAUNCH, "page": PAGE, "results": RESULTS, "text": TEXT}


def module(text: str) -> ModuleType:
    made = ModuleType("made")
    made.__file__ = "/opt/mine/halo/made.py"
    exec(text, vars(made))
    return made


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("judge", "", "expected refine(verdict, subject): add"),
        ("judge", "refine = 1", "expected refine(verdict, subject): add"),
        ("judge", "def refine(verdict): ...", "expected refine(verdict, subject): add"),
        ("launch", "def measurement(): ...", "expected measurement(case): add"),
        ("page", "def figure(run): ...", "expected figures(run): add"),
        ("results", "RESULTS = ['halo']", "expected RESULTS, a Mapping, or is_output: add"),
        ("text", "", "expected is_output(text) and parse(text, source, name), or RESULTS: add"),
        (
            "text",
            "def is_output(text): ...",
            "expected parse(text, source, name), or RESULTS: add",
        ),
    ],
)
def test_a_part_without_its_members_is_refused(part: str, text: str, message: str) -> None:
    with pytest.raises(FabricheckError) as error:
        PARTS[part].of(module(text))
    assert str(error.value).startswith(f"/opt/mine/halo/made.py: {message} or correct it")


def test_a_reader_of_results_reads_no_text() -> None:
    results = module("RESULTS = {}")
    assert TEXT.of(results) is CONFIRMER.of(results) is None
    assert RESULTS.of(results) is results


def types_of(member: Any) -> tuple[list[Any], Any]:
    """The types of what a member takes, in order, and of what it gives."""
    is_class = isinstance(member, type)
    hints = get_type_hints(member.__init__ if is_class else member)
    given = hints.pop("return")
    return list(hints.values()), member if is_class else given


def is_kind(own: Any, wanted: Any) -> bool:
    """Whether a value of a type is one of another."""
    if isinstance(own, UnionType):
        return all(is_kind(each, wanted) for each in get_args(own))
    plain, kind = get_origin(own) or own, get_origin(wanted) or wanted
    return issubclass(plain, kind) and set(get_args(wanted)) <= set(get_args(own))


@pytest.mark.parametrize("part", [*PARTS.values(), CONFIRMER, PLACES], ids=lambda part: part.module)
def test_the_suites_own_parts_have_the_types_of_their_protocol(part: Part[object]) -> None:
    """mypy holds who calls them to the protocol, and what they do to these types."""
    folders = list(registry.parts(part))
    assert folders
    for name, member in part.members.items():
        if isinstance(member, property):
            continue
        taken, given = types_of(member)
        for folder in folders:
            own, result = types_of(getattr(folder, name))
            assert own[: len(taken)] == taken, folder
            assert is_kind(result, given), folder
