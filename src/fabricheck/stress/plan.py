"""The plan of a stress: what each block runs, made once by ReFrame as it makes any case."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from fabricheck.errors import FabricheckError
from fabricheck.launch.measurement import Setting
from fabricheck.provenance import home
from fabricheck.reframe_ext import command as reframe
from fabricheck.reframe_ext.cmake_build import WANTED
from fabricheck.sites.extras import PartitionExtras

VARIABLE: Final = "FABRICHECK_STRESS_REQUEST"
"""Names the file with what the check is to plan."""
_CHECK: Final = Path(__file__).with_name("planned.py")
_WORDS: Final = 600


_PLAIN: Final = ("partition", "scheduler", "launcher", "cores", "mpi", "pmi", "features")
_BUILD: Final = ("provider", "mpi_version", "ucx_info")
"""What an examination asks of the programs; what a job runs, the plan has in its commands."""


def setting_as_data(setting: Setting) -> dict[str, Any]:
    """A setting as JSON has it."""
    return {
        **{name: getattr(setting, name) for name in _PLAIN},
        "extras": asdict(setting.extras),
        "build": {name: getattr(setting.programs, name) for name in _BUILD},
    }


def setting_of(given: Mapping[str, Any], stage: Path) -> Setting:
    """The setting of a block that runs in a directory."""
    build: Any = SimpleNamespace(**given["build"])
    plain = {name: given[name] for name in _PLAIN}
    extras = PartitionExtras.of(given["extras"])
    return Setting(**plain, extras=extras, build=build, stage=stage, stdout="out", stderr="err")


def make_plan(
    suite: Path, directory: Path, request: Mapping[str, Any], lock: int
) -> dict[str, Any]:
    """Build the programs and let ReFrame say what each block runs.

    Args:
        suite: root of the suite.
        directory: where to plan; it is made afresh, and removed when all went well.
        request: system, partition, environment, placement and blocks.
        lock: a descriptor that ReFrame holds as well, since it may outlive this process.

    Raises:
        FabricheckError: if ReFrame can't build or plan it, with its own words.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    request_file = directory / "request.json"
    request_file.write_text(json.dumps({**request, "answers": str(directory)}))
    ended = subprocess.run(
        [
            *reframe.command(suite),
            f"--checkpath={_CHECK}",
            f"--system={request['system']}:{request['partition']}",
            f"--prgenv=^{request['environ']}$",
            f"--report-file={directory / 'report.json'}",
            f"--stage={directory / 'stage'}",
            "-r",
        ],
        cwd=home(suite),
        env=reframe.environment(
            suite,
            RFM_ENABLE_RESULTS_STORAGE="n",
            # No program but the one that measures MPI, which is always built.
            **{VARIABLE: str(request_file), WANTED: "", reframe.UNRECORDED: "1"},
        ),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        pass_fds=[lock],
    )
    answers = sorted(directory.glob("block-*.json"))
    if len(answers) != len(request["blocks"]):
        output = [line.strip() for line in (ended.stdout + ended.stderr).splitlines()]
        words = "; ".join(line for line in output if "Reason:" in line or "error:" in line)
        raise FabricheckError(
            f"FC2313 expected ReFrame to plan {len(request['blocks'])} blocks in partition "
            f"{request['partition']} with {request['environ']}, found {len(answers)}: "
            f"{words[:_WORDS] or 'no output'}: {directory} has what was built and tried"
        )
    plans = [json.loads(each.read_text()) for each in answers]
    shutil.rmtree(directory, ignore_errors=True)
    return {**request, "blocks": plans}
