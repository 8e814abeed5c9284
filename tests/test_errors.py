"""Codes of errors: one each, listed on a page, printed behind the sentence."""

import ast
import re
import runpy
from collections import Counter
from html import unescape
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.cli import guarded
from fabricheck.errors import FabricheckError

SUITE = Path(__file__).resolve().parents[1]
# They pass on the sentence of another.
PASSED_ON = {"asking.py", "cli/__init__.py", "locks.py", "monitor/apart.py"}


def is_raised(node: ast.AST) -> bool:
    names = ("FabricheckError", "ParseError", "MissingError", "UnansweredError", "BusyError")
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in names


def test_every_error_has_a_code_of_its_own() -> None:
    codes: Counter[str] = Counter()
    uncoded = set()
    root = SUITE / "src" / "fabricheck"
    for path in root.rglob("*.py"):
        text = path.read_text()
        for node in filter(is_raised, ast.walk(ast.parse(text))):
            call = ast.get_source_segment(text, node) or ""
            if code := re.match(r'\w+\(\s*f?"(FC\d{4}) ', call):
                codes[code[1]] += 1
            else:
                uncoded.add(str(path.relative_to(root)))
    assert uncoded <= PASSED_ON
    assert len(codes) > 250
    assert codes.most_common(1)[0][1] == 1


def test_the_page_has_every_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["document-errors", "--check"])
    monkeypatch.syspath_prepend(SUITE / "ci")
    assert runpy.run_path(str(SUITE / "ci" / "document-errors.py"))["main"]() == 0


def test_the_code_stands_behind_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse() -> None:
        raise FabricheckError("FC0101 expected a, found b: take a")

    assert guarded(refuse) == 2
    assert capsys.readouterr().err == "fabricheck: expected a, found b: take a [FC0101]\n"


def test_an_error_that_passes_another_on_keeps_its_code() -> None:
    cause = FabricheckError("FC0101 expected a, found b")
    with refused("FC0101", "the table: expected a"):
        raise FabricheckError(f"the table: {cause}") from cause


def test_what_a_cell_of_the_page_cuts_off_is_shown_beside_it() -> None:
    page = (SUITE / "docs" / "reference" / "errors.md").read_text()
    cut = [line for line in page.splitlines() if "…" in line and line.startswith("|")]
    assert len(cut) > 100
    for line in cut:
        found = re.search(r'<span title="([^"]+)">`([^`]+) …`</span> \|$', line)
        assert found, line
        whole = unescape(found[1].replace("\\|", "|"))
        assert whole.startswith(found[2].replace("\\|", "|")), line
        assert len(whole.split()) > len(found[2].split()), line
