"""Tables between marks: put in, and refused where the page has no place for them."""

from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from generated import END, begin, insert, write_or_check

MARK = begin("make tables")
TEXT = f"a\n{MARK}\nold\n{END}\nb\n{MARK}{END}\nc\n"
PAGE = Path("page.md")


def test_tables_take_the_places_of_the_old_ones() -> None:
    written = insert(TEXT, "make tables", ["one", "\ntwo\n"], PAGE)
    assert written == f"a\n{MARK}\n\none\n\n{END}\nb\n{MARK}\n\ntwo\n\n{END}\nc\n"
    assert insert(written, "make tables", ["one", "two"], PAGE) == written


@pytest.mark.parametrize(
    "text", [TEXT.replace(END, "", 1), TEXT.replace(END, ""), TEXT.replace(MARK, ""), TEXT + MARK]
)
def test_a_page_without_their_places_is_refused(text: str) -> None:
    with pytest.raises(FabricheckError, match="put them back"):
        insert(text, "make tables", ["one", "two"], PAGE)


def test_a_page_is_checked_then_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(TEXT)
    given = ("help", page, "make tables", ["one", "two"])
    monkeypatch.setattr("sys.argv", ["tables", "--check"])
    assert write_or_check(*given) == 1
    assert "run make tables" in capsys.readouterr().err
    assert page.read_text() == TEXT
    monkeypatch.setattr("sys.argv", ["tables"])
    assert write_or_check(*given) == 0
    monkeypatch.setattr("sys.argv", ["tables", "--check"])
    assert write_or_check(*given) == 0
    page.write_text("no marks")
    assert write_or_check(*given) == 2
