"""The job script of one case for each MPI, transport and launcher, word for word.

With FABRICHECK_WRITE_SCRIPTS=1 the expected scripts are written anew: read the difference before it
is committed.
"""

import json
import os
import re
from pathlib import Path

import pytest
from tests.checks import job_site
from tests.reframe_ext import warm

from fabricheck.transports.families import MPIS, families
from fabricheck.transports.placement import Placement
from fabricheck.transports.table import TRANSPORTS

pytestmark = pytest.mark.integration

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXPECTED = ROOT / "tests" / "data" / "job-scripts"
# What differs from machine to machine or belongs to the benchmark, and what ReFrame calls the case.
VARYING = (
    (re.compile(r"(/mpi_probe latency) .*"), r"\1 OPTIONS"),
    (re.compile(rf"{ROOT}/build/bench/every-(\w+)-\w+"), r"BUILD/\1"),
    (re.compile(str(ROOT)), "SUITE"),
    (re.compile(r"rfm_EveryTransport_\w+"), "CASE"),
)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, str]]:
    """(launcher, MPI) to the script of each transport, from a dry run of everything."""
    suite = tmp_path_factory.mktemp("suite")
    job_site.write(suite)
    done = warm.run(
        [
            f"--config-file={HERE / 'job_site.py'}",
            "--system=every",
            f"--checkpath={HERE / 'job_suite.py'}",
            f"--prefix={suite}",
            f"--stage={suite / 'stage'}",
            f"--report-file={suite / 'report.json'}",
            warm.SERIALLY,
            "--dry-run",
        ],
        ROOT,
        {**os.environ, **warm.QUICKLY, "JOB_SUITE": str(suite)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads((suite / "report.json").read_text())["runs"][0]["testcases"]
    found: dict[tuple[str, str], dict[str, str]] = {}
    for case in cases:
        if "placement" in case:
            text = (Path(case["stagedir"]) / "rfm_job.sh").read_text()
            for pattern, word in VARYING:
                text = pattern.sub(word, text)
            transport = Placement.read(case["placement"]).transport.name
            found.setdefault((case["partition"], case["environ"]), {})[transport] = text
    return found


@pytest.mark.parametrize("family", MPIS)
@pytest.mark.parametrize("launcher", job_site.LAUNCHERS)
def test_job_scripts_are_those_that_were_read(
    scripts: dict[tuple[str, str], dict[str, str]], launcher: str, family: str
) -> None:
    made = scripts[launcher, family]
    # Memory of GPUs has benchmarks of its own, and tests/transports/test_gpu_memory.py.
    on_host = {name for name, each in TRANSPORTS.items() if each.memory is None}
    assert set(made) == {name for name in on_host if family in families(name)}
    text = "\n".join(f"==== {name}\n{made[name]}" for name in TRANSPORTS if name in made)
    expected = EXPECTED / f"{launcher}-{family}.txt"
    if "FABRICHECK_WRITE_SCRIPTS" in os.environ:
        expected.write_text(text)
    assert text == expected.read_text()


@pytest.mark.parametrize("platform", job_site.PLATFORMS)
def test_what_starts_in_a_container_is_what_starts_without_one(
    scripts: dict[tuple[str, str], dict[str, str]], platform: str
) -> None:
    inside, outside = (
        scripts["srun", environ]["rc"].replace(f"BUILD/{environ}", "BUILD").splitlines()
        for environ in (platform, "openmpi")
    )
    [ours] = (line for line in inside if line not in outside and line.startswith("srun "))
    [theirs] = (line for line in outside if line.startswith("srun "))
    launcher, program = theirs.split(" SUITE", 1)
    assert ours.startswith(f"{launcher} {platform.lower()} ")
    assert ours.endswith(f"--nv /images/mpi env FABRICHECK_CONTAINER=yes SUITE{program}")
    assert "/run/pmix" in ours
    # Nothing is pulled, and the settings of the transport are the same.
    differing = {*inside} ^ {*outside}
    assert [line for line in differing if "srun" not in line and "#SBATCH" not in line] == []


@pytest.mark.parametrize(
    ("scheduler", "asked"),
    [
        ("torque", ["-l walltime=0:3:0", "-l nodes=2:ppn=1", "-r n"]),
        # Only LSF with CSM takes this (LSF's command reference), and "site check" tells so.
        ("lsf", ["-nnodes 2", "-W 3"]),
    ],
)
def test_what_jobs_ask_of_schedulers_that_were_not_seen(
    scripts: dict[tuple[str, str], dict[str, str]], scheduler: str, asked: list[str]
) -> None:
    script = scripts[scheduler, "openmpi"]["tcp"]
    words = re.findall(r"^#(?:PBS|BSUB) (.*)$", script, re.MULTILINE)
    assert [each for each in words if not re.match("-[NJoe] ", each)] == asked
    assert re.search(r"^mpirun -np 2 -x .* -x UCX_TLS .*/rank\.sh ", script, re.MULTILINE)
