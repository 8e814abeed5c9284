"""Bounds from the link in a run of ReFrame: what it fails, and what it believes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.reframe_ext.recorded import LOGGING, measured

pytestmark = pytest.mark.integration

REFRAME = Path(sys.executable).parent / "reframe"
CONFIGURATION = f"""
import fabricheck.reframe_ext.recorder
site_configuration = {{
    "systems": [{{"name": "linked", "hostnames": [".*"], "partitions": [{{
        "name": "main", "scheduler": "local", "launcher": "local", "environs": ["builtin"],
        "features": ["rdma", "nodes_2"], "extras": {{"link_rate": 100, "fabric": "roce"}},
    }}]}}],
    "environments": [{{"name": "builtin"}}],
    "logging": {LOGGING},
}}
"""


def test_a_link_judges_what_has_no_reference_and_refuses_what_it_cannot_carry(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.py").write_text(CONFIGURATION)
    done = subprocess.run(
        [
            REFRAME,
            f"--config-file={tmp_path / 'config.py'}",
            f"--checkpath={Path(__file__).with_name('links_suite.py')}",
            "--run",
            f"--prefix={tmp_path}",
        ],
        cwd=tmp_path,
        env={**os.environ, "RFM_WARN_AS_ERROR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(done.stdout + done.stderr)
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
