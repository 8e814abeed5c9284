"""What a run records of its provenance, from checks that stand in for ReFrame's."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fabricheck.record.facts import MACHINE, SOFTWARE, UNTOLD
from fabricheck.record.read import record_files
from fabricheck.reframe_ext import recorder
from fabricheck.reframe_ext.recorder import CaseProvenance

pytestmark = pytest.mark.integration

SPACK = "/opt/spack/gcc-12/openmpi-4.1.6-abcdefghijklmnopqrstuvwxyz012345/bin/opal_wrapper"


@pytest.fixture(autouse=True)
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "emit_loadenv_commands", lambda *environs: ["cc() { echo x; }"])


def check(stage: Path, **changes: Any) -> SimpleNamespace:
    partition = SimpleNamespace(
        name="main",
        fullname="hpc:main",
        local_env=None,
        scheduler=SimpleNamespace(registered_name="local"),
    )
    return SimpleNamespace(
        **{
            "stagedir": str(stage),
            "current_system": SimpleNamespace(name="hpc"),
            "current_partition": partition,
            "current_environ": SimpleNamespace(name="openmpi", cc="cc"),
            "node_list": ["n1", "n2"],
            "session": "s1",
            "mpi_version": "Open MPI 4",
            "ucx_version": "",
            "program": "mpi_probe",
            "program_version": "0.1.0",
            "commit": "abc",
            **changes,
        }
    )


def told(stage: Path, **kernels: str) -> None:
    for node, kernel in kernels.items():
        (stage / f"node.{node}").write_text(
            f"told before {node} 1.0\nproc/cmdline:\nproc/sys/kernel/osrelease:{kernel}\nend\n"
        )


def lines(basedir: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for path in record_files(basedir) for line in path.read_text().splitlines()
    ]


def test_nodes_that_are_alike_make_one_record_with_every_fact(tmp_path: Path) -> None:
    told(tmp_path, n1="6.1", n2="6.1", n3="6.6")
    CaseProvenance(tmp_path / "perflogs").record(check(tmp_path))
    first, second = lines(tmp_path / "perflogs")
    assert (first["nodes"], second["nodes"]) == (["n1", "n2"], ["n3"])
    assert (first["machine"]["kernel"], second["machine"]["kernel"]) == ("6.1", "6.6")
    assert (list(first["machine"]), list(first["software"])) == (list(MACHINE), list(SOFTWARE))
    assert first["machine"]["bios"] == first["software"]["ucx"] == UNTOLD
    assert first["software"]["program"] == "mpi_probe 0.1.0"


def test_a_session_records_once_what_does_not_change(tmp_path: Path) -> None:
    told(tmp_path, n1="6.1", n2="6.1")
    session = CaseProvenance(tmp_path / "perflogs")
    session.record(check(tmp_path))
    session.record(check(tmp_path))
    assert len(lines(tmp_path / "perflogs")) == 1
    session.record(check(tmp_path, ucx_version="1.15"))
    assert len(lines(tmp_path / "perflogs")) == 2


def test_a_node_that_told_nothing_is_recorded_as_such(tmp_path: Path) -> None:
    told(tmp_path, n1="6.1")
    CaseProvenance(tmp_path / "perflogs").record(check(tmp_path))
    found = {line["nodes"][0]: line["machine"]["kernel"] for line in lines(tmp_path / "perflogs")}
    assert found == {"n1": "6.1", "n2": UNTOLD}


def test_a_compiler_from_spack_gives_the_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "told", lambda _: f"gcc 12.2.0\n(C) FSF\n{SPACK}")
    CaseProvenance(tmp_path).record(check(tmp_path))
    (found,) = lines(tmp_path)
    assert found["software"]["compiler"] == "gcc 12.2.0"
    assert found["software"]["spack"] == "openmpi-4.1.6-abcdefghijklmnopqrstuvwxyz012345"


@pytest.mark.parametrize("cc", ["", "no-such-compiler"])
def test_a_compiler_that_does_not_answer_is_not_available(tmp_path: Path, cc: str) -> None:
    environ = SimpleNamespace(name="openmpi", cc=cc)
    CaseProvenance(tmp_path).record(check(tmp_path, current_environ=environ))
    assert lines(tmp_path)[0]["software"]["compiler"] == UNTOLD


def test_the_version_of_slurm_is_asked_of_slurm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sinfo").write_text("#!/bin/sh\necho slurm 24.05.4\n")
    (tmp_path / "sinfo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    asked = check(tmp_path)
    asked.current_partition.scheduler.registered_name = "slurm"
    CaseProvenance(tmp_path).record(asked)
    assert lines(tmp_path)[0]["software"]["scheduler"] == "slurm 24.05.4"
