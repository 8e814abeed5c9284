"""What Spack claims is held against what a node says."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from fabricheck.launch import spack_verify
from fabricheck.launch.measurement import Evidence
from fabricheck.measures.curve import Curve
from fabricheck.schedulers import launcher_of
from fabricheck.transports.families import choice
from fabricheck.transports.table import find

BY_SPACK = SimpleNamespace(ucx_info="/store/ucx/bin/ucx_info", mpi_version="MPICH Version: 4.0.2")
BY_CMAKE = SimpleNamespace(ucx_info="", mpi_version="")
ON_UCX = choice("mpich", "rc")
OF_ITS_OWN = choice("mvapich2", "rc")
RC = find("rc")
CURVE = Curve("latency", "osu", "7.4", None, {}, ())


def listing(stage: Path, *transports: str) -> None:
    lines = (f"#      Transport: {name}\n#         Device: x\n" for name in transports)
    (stage / spack_verify.LISTING).write_text("".join(lines))


def test_only_a_ucx_below_spacks_programs_is_asked() -> None:
    (asked,) = spack_verify.questions(BY_SPACK, ON_UCX, launcher_of("mpirun"))
    assert asked == (
        "env -u UCX_LOG_FILE -u UCX_LOG_LEVEL /store/ucx/bin/ucx_info -d > ucx_info.txt 2>&1"
    )
    assert (
        spack_verify.questions(BY_CMAKE, ON_UCX, launcher_of("mpirun"))
        == spack_verify.questions(BY_SPACK, OF_ITS_OWN, launcher_of("mpirun"))
        == []
    )


@pytest.mark.integration
def test_the_ucx_of_a_node_is_asked_wherever_the_script_runs(tmp_path: Path) -> None:
    """With ``scheduler: allocation`` it runs on the login node, which may have no such card."""
    store = tmp_path / "ucx_info"
    store.write_text('#!/bin/sh\necho "$NODE $# $1"\n')
    (tmp_path / "srun").write_text('#!/bin/sh\nshift 3\nNODE=rx1 exec "$@"\n')
    for tool in (store, tmp_path / "srun"):
        tool.chmod(0o755)
    (asked,) = spack_verify.questions(
        SimpleNamespace(ucx_info=str(store), mpi_version=""), ON_UCX, launcher_of("srun")
    )
    subprocess.run(
        ["sh", "-c", asked],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.defpath}", "NODE": "login"},
        check=True,
    )
    assert (tmp_path / spack_verify.LISTING).read_text() == "rx1 1 -d\n"


def test_a_good_job_says_which_mpi_it_was(tmp_path: Path) -> None:
    listing(tmp_path, "rc_verbs", "tcp")
    found = spack_verify.confirm(Evidence(curve=CURVE), BY_SPACK, ON_UCX, RC, tmp_path)
    assert found.objections == ()
    assert found.curve.metadata["mpi"] == "MPICH Version: 4.0.2"


def test_a_ucx_without_the_transport_is_the_first_objection(tmp_path: Path) -> None:
    listing(tmp_path, "tcp")
    failed = Evidence(objections=("rank 0 failed",))
    first, second = spack_verify.confirm(failed, BY_SPACK, ON_UCX, RC, tmp_path).objections
    assert first.startswith("expected a UCX with rc_mlx5 or rc_verbs on the node, found only tcp")
    assert second == "rank 0 failed"


def test_a_job_that_never_began_has_one_fault(tmp_path: Path) -> None:
    failed = Evidence(objections=("it never began",))
    assert spack_verify.confirm(failed, BY_SPACK, ON_UCX, RC, tmp_path) == failed


def test_a_job_without_the_list_is_not_believed(tmp_path: Path) -> None:
    (objection,) = spack_verify.confirm(Evidence(), BY_SPACK, ON_UCX, RC, tmp_path).objections
    assert "found none" in objection


@pytest.mark.parametrize(("build", "by"), [(BY_CMAKE, ON_UCX), (BY_SPACK, OF_ITS_OWN)])
def test_nothing_is_asked_of_others(build: SimpleNamespace, by: object, tmp_path: Path) -> None:
    assert spack_verify.confirm(Evidence(), build, by, RC, tmp_path) == Evidence()
