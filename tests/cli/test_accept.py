import functools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import run
from tests.lab.made import simulate
from tests.sites import minimal
from typer.testing import Result

from fabricheck.errors import FabricheckError
from fabricheck.report.offline import outside_resources

pytestmark = pytest.mark.integration

BEFORE, AFTER = ("--before", "20200101:20200121"), ("--after", "20200121:20200301")


class Place:
    """A simulated history of twenty nights before a change, and twenty after it."""

    def __init__(self, root: Path, store: Path) -> None:
        self.store, self.sites = store, root / "sites"
        self.sites.mkdir()

    def accept(self, *options: str | Path) -> Result:
        return run("accept", "--store", self.store, "--sites", self.sites, *options)


MakePlace = Callable[[float], Place]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Callable[[float], Path]:
    """Histories with a change of a size, each made once: comparing changes nothing in them."""

    @functools.cache
    def made(size: float) -> Path:
        root = tmp_path_factory.mktemp("history")
        options = ("--nights", "40", "--at", "20", "--series", "12", "--size", str(size))
        assert simulate("history", root / "logs", "--normal", *options).exit_code == 0
        run("history", "refresh", "--perflogs", root / "logs", "--store", root / "store")
        return root / "store"

    return made


@pytest.fixture
def place(tmp_path: Path, history: Callable[[float], Path]) -> MakePlace:
    return lambda size: Place(tmp_path, history(size))


@pytest.mark.parametrize(
    ("size", "code", "word"), [(0, 0, "ACCEPT"), (0.1, 1, "REJECT"), (0.05, 3, "INCONCLUSIVE")]
)
def test_the_exit_code_is_the_verdict(place: MakePlace, size: float, code: int, word: str):
    found = place(size).accept(*BEFORE, *AFTER)
    assert found.exit_code == code
    lines = found.stdout.splitlines()
    assert lines[0].startswith(f" {word} ")
    assert "20 runs before, 20 after" in lines
    assert any("did not take turns" in line for line in lines)


def test_what_is_fine_is_shown_when_asked_for(place: MakePlace):
    here = place(0)
    assert "latency_p50_64B" not in here.accept(*BEFORE, *AFTER).stdout
    assert "latency_p50_64B" in here.accept(*BEFORE, *AFTER, "--all").stdout


def test_json_and_record_say_the_same(tmp_path: Path, place: MakePlace):
    record = tmp_path / "record.json"
    found = place(0.1).accept(*BEFORE, *AFTER, "--json", "--record", record)
    data = json.loads(found.stdout)
    assert data == json.loads(record.read_text())
    assert (data["verdict"], data["format"], data["signatures"]) == ("reject", 4, [])
    assert data["selected"]["before"] == ["20200101:20200121"]
    assert data["settings"]["margin"] == 0.05
    answer = next(each for each in data["answers"] if each["scope"] == "series")
    assert answer["interval"][0] < answer["change"] < answer["interval"][1]


def test_the_margin_is_the_sites(place: MakePlace):
    here = place(0.1)
    site = minimal.site("simulated", "acceptance: {margin: 0.2}")
    (here.sites / "site.yaml").write_text(site)
    assert here.accept(*BEFORE, *AFTER).exit_code == 0
    (here.sites / "site.yaml").write_text(site.replace("0.2", "-1"))
    with pytest.raises(FabricheckError, match=r"site.yaml: line 3: acceptance > margin: expected"):
        here.accept(*BEFORE, *AFTER)


def test_what_was_made_with_other_margins_than_the_sites_is_not_signed(
    tmp_path: Path, place: MakePlace
):
    here, record = place(0.1), tmp_path / "record.json"
    site = here.sites / "site.yaml"
    site.write_text(minimal.site("simulated", "acceptance: {margin: 0.2}"))
    assert here.accept(*BEFORE, *AFTER, "--record", record).exit_code == 0
    signed = ("accept", "--sites", here.sites, "--sign", "Ada", "--comment", "c", "--record")
    assert run(*signed, record).exit_code == 0
    site.write_text(minimal.site("simulated"))
    with pytest.raises(FabricheckError, match=r"the site's acceptance > margin 0\.05, found 0\.2"):
        run(*signed, record)


def test_a_record_is_signed_by_several(tmp_path: Path, place: MakePlace):
    here, record = place(0.1), tmp_path / "record.json"
    signed = ("--record", record, "--sign", "Ada <a@b>", "--comment", "as announced")
    assert here.accept(*BEFORE, *AFTER, *signed).exit_code == 1
    assert run("accept", "--record", record, "--sign", "Bob", "--comment", "seen").exit_code == 1
    signatures = json.loads(record.read_text())["signatures"]
    assert [each["name"] for each in signatures] == ["Ada <a@b>", "Bob"]
    assert {each["verdict"] for each in signatures} == {"reject"}
    page = record.with_suffix(".html").read_text()
    assert "Ada &lt;a@b&gt;" in page
    assert "<b>Bob</b>" in page


def test_a_record_that_was_changed_is_not_signed(tmp_path: Path, place: MakePlace):
    here, record = place(0.1), tmp_path / "record.json"
    here.accept(*BEFORE, *AFTER, "--record", record, "--sign", "Ada", "--comment", "no")
    changed = record.read_text().replace('"verdict": "reject"', '"verdict": "accept"', 1)
    record.write_text(changed)
    with pytest.raises(FabricheckError, match="found it changed since then"):
        run("accept", "--record", record, "--sign", "Bob", "--comment", "yes")
    assert record.read_text() == changed


def test_what_is_damaged_or_changed_by_hand_is_not_signed(tmp_path: Path, place: MakePlace):
    here, record = place(0.1), tmp_path / "record.json"
    here.accept(*BEFORE, *AFTER, "--record", record)
    good = json.loads(record.read_text())
    page = record.with_suffix(".html").read_text()

    def refused(words: str, text: str) -> None:
        record.write_text(text)
        with pytest.raises(FabricheckError, match=words) as error:
            run("accept", "--record", record, "--sign", "Bob", "--comment", "yes")
        assert "\n" not in str(error.value)
        assert record.read_text() == text
        assert record.with_suffix(".html").read_text() == page

    accepted = [{**each, "verdict": "accept"} for each in good["answers"]]
    changes = {
        "verdict reject on the whole": {"verdict": "accept"},
        "from the figures at .*found accept": {"verdict": "accept", "answers": accepted},
        r"found at \$.answers\[0\]": {"answers": [{**good["answers"][0], "words": 7}]},
        r"found at \$.settings.pairs": {"settings": {**good["settings"], "pairs": 0}},
        r"found at \$.signatures": {"signatures": "Ada"},
        "expected the sentence .* on the whole": {"sentence": "all as good as before"},
        "expected the questions .* on the whole": {"questions": 9},
    }
    for words, change in changes.items():
        refused(words, json.dumps({**good, **change}))
    failures = next(each for each in good["answers"] if each["scope"] == "failures")
    series = next(each for each in good["answers"] if each["scope"] == "series")
    wide = {**good["settings"], "margin": 0.2}
    level = {side: [0.0] * 20 for side in ("before", "after")}
    for words, answer, change in (
        (r"expected the p_fine .* from the figures", series, {"p_fine": 0.001}),
        (r"expected the pairs 20 on .* from the figures", series, {"pairs": 40}),
        (r"expected the change .* from the figures", series, {"change": None}),
        (r"expected the interval \[.* from", series, {"interval": None}),
        ("expected the verdict accept on .* from the figures", series, {"runs": level}),
        ("expected the margin 0.04.* from the figures", series, {"margin": 0.2}),
        (
            "some that can't be",
            failures,
            {"failed": {side: {"failed": 2, "runs": 1} for side in ("before", "after")}},
        ),
        ("some that can't be", series, {"fields": {"system": "one"}}),
        ("some that can't be", failures, {"failed": None}),
        ("expected the words .* from the figures", series, {"words": "+0.0 %"}),
        ("expected the values .* from the figures", series, {"values": "1 us → 1 us"}),
        ("expected the name .* from the figures", series, {"name": "another"}),
        ("expected the why .* from the figures", series, {"why": "nothing"}),
    ):
        changed = [{**each, **change} if each is answer else each for each in good["answers"]]
        refused(words, json.dumps({**good, "answers": changed}))
    fewer = {
        **good,
        "verdict": "accept",
        "answers": [each for each in good["answers"] if each["verdict"] == "accept"],
    }
    refused("on the whole from the figures", json.dumps(fewer))
    refused("expected the margin 0.18.* from the figures", json.dumps({**good, "settings": wide}))
    for name in good.keys() - {"format", "signatures"}:
        rest = {key: value for key, value in good.items() if key != name}
        refused(rf"found at \$: '{name}' is a required", json.dumps(rest))
    refused("NaN, which is no number", json.dumps({**good, "made": float("nan")}))
    refused("expected the record", "[" * 30000)
    refused(
        "expected the record", json.dumps(good).replace('"pairs": ', f'"pairs": {"9" * 5000}', 1)
    )
    record.write_text(json.dumps(good))
    assert run("accept", "--record", record, "--sign", "Bob", "--comment", "yes").exit_code == 1


def test_the_page_has_the_verdict_and_loads_nothing(tmp_path: Path, place: MakePlace):
    record = tmp_path / "record.json"
    place(0.1).accept(*BEFORE, *AFTER, "--record", record)
    page = record.with_suffix(".html").read_text()
    assert outside_resources(page) == []
    assert "<script" not in page
    assert page.index("Reject") < page.index("Transports") < page.index("latency_p50_64B")
    assert "By nobody yet." in page


def test_a_record_is_not_overwritten(tmp_path: Path, place: MakePlace):
    here, record = place(0), tmp_path / "record.json"
    record.write_text("mine")
    with pytest.raises(FabricheckError, match="expected no file at"):
        here.accept(*BEFORE, *AFTER, "--record", record)
    assert record.read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "expected --before SEL and --after SEL"),
        (BEFORE, "expected --before SEL and --after SEL"),
        ((*BEFORE, *AFTER, "--sign", "Ada"), "expected --sign NAME and --comment TEXT together"),
        ((*BEFORE, *AFTER, "--sign", "A", "--comment", "c"), "expected --record FILE.json with"),
        ((*BEFORE, *AFTER, "--record", "record.txt"), "end it in .json"),
        ((*BEFORE, *AFTER, "colour=red"), "expected FIELD=VALUE"),
        (("--record", "none.json", "--sign", "A", "--comment", "c"), "expected the record of an"),
    ],
)
def test_bad_input(place: MakePlace, options: tuple[str, ...], words: str):
    with pytest.raises(FabricheckError, match=words) as error:
        place(0).accept(*options)
    assert error.value.exit_code == 2


def test_another_file_is_no_record(tmp_path: Path):
    other = tmp_path / "other.json"
    for text in ("[]", "{}", "no"):
        other.write_text(text)
        with pytest.raises(FabricheckError, match="expected the record of an acceptance"):
            run("accept", "--record", other, "--sign", "A", "--comment", "c")


def test_without_a_history_nothing_is_made(tmp_path: Path):
    with pytest.raises(FabricheckError, match="fabricheck history refresh"):
        run("accept", "--store", tmp_path / "none", *BEFORE, *AFTER)
    assert not (tmp_path / "none").exists()
