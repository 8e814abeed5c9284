import re
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from tests.refusals import refused
from tests.sites import minimal

from fabricheck.acceptance.settings import KEY, Settings, read_settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "acceptance.md"


def site(root: Path, name: str, settings: str) -> None:
    (root / f"{name}.yaml").write_text(minimal.site(name, f"{KEY}: {settings}"))


def test_the_document_has_the_defaults():
    text = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert yaml.safe_load(text[1].replace("[...]", "[]"))[KEY] == asdict(Settings())


def test_a_look_has_its_share_of_the_error_rate_and_the_planned_one_the_most():
    settings = Settings(error_rate=0.1, pairs=8)
    rates = [settings.accepting(pairs) for pairs in (7, 8, 9)]
    assert (settings.rejecting, *rates) == pytest.approx((0.01, 0.01, 0.04, 0.01))


def test_systems_have_the_settings_of_their_site(tmp_path: Path):
    site(tmp_path, "a", "{margin: 0.1}")
    site(tmp_path, "b", "{pairs: 20}")
    assert read_settings([tmp_path], {"a"}) == Settings(margin=0.1)
    assert read_settings([tmp_path], {"elsewhere"}) == Settings()


def test_systems_of_different_settings_are_not_judged_together(tmp_path: Path):
    site(tmp_path, "a", "{margin: 0.1}")
    site(tmp_path, "b", "{pairs: 20}")
    with refused("FC2006"):
        read_settings([tmp_path], {"a", "b"})


@pytest.mark.parametrize("given", ["{margins: 1}", "{margin: wide}", "{pairs: 7.5}", "[]"])
def test_bad_settings_are_bad_input(tmp_path: Path, given: str):
    site(tmp_path, "a", given)
    with refused("FC0102", r"a\.yaml: line 3: acceptance"):
        read_settings([tmp_path], {"a"})
