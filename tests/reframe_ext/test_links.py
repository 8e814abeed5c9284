"""Bounds from the link in a run of ReFrame: what it fails, and what it believes."""

from pathlib import Path

import pytest
from tests.reframe_ext.recorded import measured, reframe

pytestmark = pytest.mark.integration


def test_a_link_judges_what_has_no_reference_and_refuses_what_it_cannot_carry(
    tmp_path: Path,
) -> None:
    reframe(tmp_path, Path(__file__).with_name("links_suite.py"))
    found = {
        share: case
        for case in measured(tmp_path)
        for share in (0.5, 0.8, 0.95, 1.01)
        if f"share={share}" in case["name"]
    }
    assert {share: (case["level"], case["result"]) for share, case in found.items()} == {
        0.5: ("critical", "fail"),
        0.8: ("warning", "pass"),
        0.95: ("good", "pass"),
        1.01: ("untrusted", "fail"),
    }
    assert "more than 1 link(s) of 100 Gbit/s" in found[1.01]["findings"][0]
    assert "critical below" in found[0.5]["findings"][0]
    for share in (0.5, 0.8, 0.95):
        assert found[share]["reference_kind"] == "physics"
        assert found[share]["reference_source"] == "a link of 100 Gbit/s"
