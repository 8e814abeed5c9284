"""Bounds from the link in a run of ReFrame: what it fails, and what it believes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

REFRAME = Path(sys.executable).parent / "reframe"
CONFIGURATION = """
site_configuration = {
    "systems": [{"name": "linked", "hostnames": [".*"], "partitions": [{
        "name": "main", "scheduler": "local", "launcher": "local", "environs": ["builtin"],
        "features": ["rdma", "nodes_2"], "extras": {"link_rate": 100, "fabric": "roce"},
    }]}],
    "environments": [{"name": "builtin"}],
}
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
            f"--report-file={tmp_path / 'run.json'}",
        ],
        cwd=tmp_path,
        env={**os.environ, "RFM_WARN_AS_ERROR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(done.stdout + done.stderr)
    run = json.loads((tmp_path / "run.json").read_text())["runs"][-1]
    found = {
        case["check_params"]["share"] if "check_params" in case else case["share"]: case
        for case in run["testcases"]
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
