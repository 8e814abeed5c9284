"""Terminal, page, mail and JSON say the same of a run, in the same words, with the same counts."""

import json
import re
from collections.abc import Callable

import pytest
from tests.report import sample, whole
from tests.report.test_page import words
from tests.report.test_terminal import shown

from fabricheck.cli.report import as_json
from fabricheck.report.page import render
from fabricheck.runner import morning

pytestmark = pytest.mark.integration

NIGHTS: dict[str, Callable[[], sample.Run]] = {
    **sample.VARIANTS,
    "slow card": lambda: whole.slow_card(whole.night(20)),
    "no build": lambda: whole.failed(whole.night(20)),
}


def plain(text: str) -> str:
    """Text in one line, without the signs that stand for a level, as a line has them or not."""
    return re.sub(r"\s+([.,:;])", r"\1", " ".join(text.split())).replace("&#39;", "'")


@pytest.mark.parametrize("name", NIGHTS)
def test_all_say_the_same(judged, name):
    run, summary = judged(NIGHTS[name]())
    found = json.loads(json.dumps({**as_json(run, summary), "history": None}))
    html = render(run, summary)
    page = plain(words(html[html.index("<header") : html.index("<nav")]))
    page = page.replace("&#34;", '"').replace("&gt;", ">").replace("&amp;", "&")
    terminal = plain(shown(run, summary, width=400, table=False))
    mail = plain(" ".join(morning.of_page(found, "page.html")))
    subject = plain(f"{morning.counted(found)}night{morning.first_cause(found)}")
    for sentence in (found["fabric"], found["run"], found["next"], *found["shared"]):
        told = plain(sentence)
        assert told in terminal
        assert told in mail
        assert told in page
    for status, number in found["counts"].items():
        assert f"{number} {status}" in page
        assert f"{number} {status}" in terminal
        if number and status != "good":
            assert f"{number} {status}" in subject
    (total,) = re.findall(r"(\d+ cases?): night", subject)
    assert total in page
    assert f"{total}: " in terminal or f"{total}, " in terminal
    for cause in found["shared"][:1]:
        assert cause[:80] in subject
