"""The faults that everybody meets, on a real testbed with RDMA devices: seen, named, gone again.

The whole list takes half an hour (lab/faults.py); these three are looked at with every change.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from fabricheck.provenance import SUITE

# All faults are met in the set-up of the first test.
pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

ESSENTIAL = ("loss", "rate", "link-down")


@pytest.fixture(scope="module")
def drill(can_run_guests: None) -> Mapping[str, Any]:
    """What ``lab/faults.py --json`` says of the essential faults, by name."""
    process = subprocess.Popen(
        [
            sys.executable,
            str(SUITE / "lab" / "faults.py"),
            "--quick",
            "--json",
            *(f"--only={name}" for name in ESSENTIAL),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        output, _ = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGTERM)  # it takes its testbed down
        process.wait()
        raise
    assert output, f"lab/faults.py ended with exit code {process.returncode}, as it says above"
    found = {fault["name"]: fault for fault in json.loads(output)["faults"]}
    assert process.returncode == (0 if all(each["passed"] for each in found.values()) else 1)
    return found


@pytest.mark.parametrize("name", ESSENTIAL)
def test_a_fault_is_red_with_its_layer_and_its_reason(drill: Mapping[str, Any], name: str) -> None:
    fault = drill[name]
    assert fault["missed"] == []
    cases = {case["case"]: case for case in fault["cases"]}
    mpi = cases["bw openmpi rc-2n"]
    assert mpi["status"] in ("critical", "untrusted")
    assert mpi["places"] == ["fabric"]


@pytest.mark.parametrize("name", ESSENTIAL)
def test_without_the_fault_all_is_green_again(drill: Mapping[str, Any], name: str) -> None:
    assert drill[name]["left_behind"] == []
