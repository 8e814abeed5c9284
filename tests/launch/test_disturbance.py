from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.launch.disturbance import (
    FOREIGN_SHARE,
    LEAST_SECONDS,
    STOLEN_SHARE,
    find_disturbances,
    read_suffered,
)


@pytest.fixture(autouse=True)
def _as_it_is_without_tests_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    for share in (FOREIGN_SHARE, STOLEN_SHARE):
        monkeypatch.delenv(share, raising=False)


def test_a_site_may_grant_others_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node(tmp_path, "n1", foreign=900, own=1000)
    rank(tmp_path, 0, "n1", seconds="10")
    monkeypatch.setenv(FOREIGN_SHARE, "0.5")
    assert find_disturbances(tmp_path, shared=False) == []
    monkeypatch.setenv(FOREIGN_SHARE, "0.4")
    assert len(find_disturbances(tmp_path, shared=False)) == 1
    monkeypatch.setenv(FOREIGN_SHARE, "most")
    with refused("FC0902", "above 0 and up to 1, found 'most'"):
        find_disturbances(tmp_path, shared=False)


def test_a_site_may_grant_the_hypervisor_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node(tmp_path, "n1", stolen=300)
    rank(tmp_path, 0, "n1")
    assert len(find_disturbances(tmp_path, shared=False)) == 1
    monkeypatch.setenv(STOLEN_SHARE, "0.2")
    assert find_disturbances(tmp_path, shared=False) == []


BEFORE, AFTER = 1000, 3000
"""Ticks of a CPU: twenty seconds."""


def node(directory: Path, host: str, foreign: int = 0, own: int = 1900, **more: int) -> None:
    """What two CPUs did in 20 s: of the first rank, of others on it, and of another one."""
    stolen, waited, emulator = (more.get(name, 0) for name in ("stolen", "memory", "emulator"))

    def told(moment: str, first: str, second: str, waited: int, emulator: int) -> str:
        return (
            f"told {moment} {host} 1.0\nproc/stat:cpu0 {first}\nproc/stat:cpu1 {second}\n"
            f"proc/pressure/memory:some avg10=0.00 total={waited}\n"
            f"proc/7/schedstat:1 {emulator} 3\nproc/8/schedstat:1 20 3\nend\n"
        )

    used = 500 + own + foreign
    (directory / f"node.{host}").write_text(
        told("start", ticks(500, 7, BEFORE), ticks(500, 7, BEFORE), 5, 10)
        + told(
            "stop", ticks(used, 7 + stolen, AFTER), ticks(2500, 7, AFTER), 5 + waited, 10 + emulator
        )
    )


def ticks(used: int, stolen: int, total: int) -> str:
    """A line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, guest ones."""
    return f"{used} 0 0 {total - used - stolen} 0 0 0 {stolen} 0 0"


def rank(directory: Path, number: int, host: str, cpus: str = "0", seconds: str = "19") -> None:
    time = f"time 0m0.01s 0m0.02s\n0m{seconds}s 0m0.5s\n" if seconds else ""
    (directory / f"witness.{number}").write_text(f"rank {number}\nhost {host}\ncpus {cpus}\n{time}")


def test_a_rank_that_has_its_cpu_is_not_disturbed_whatever_runs_on_another(tmp_path: Path) -> None:
    node(tmp_path, "n1")
    rank(tmp_path, 0, "n1")
    (found,) = read_suffered(tmp_path, shared=False)
    assert (found.hosts, found.cpus, found.seconds, found.own) == (("n1",), 1, 20.0, 19.0)
    assert found.foreign == found.stolen == found.memory == 0
    assert find_disturbances(tmp_path, shared=False) == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"foreign": 900, "own": 1000}, "other programs had 45 % of the ranks' CPUs on n1 (9 s"),
        ({"stolen": 300}, "the hypervisor took 15 % of the CPUs of n1 (3 s of 20 s)"),
        ({"emulator": 5_000_000_000}, "the hypervisor took 25 % of the CPUs of n1"),
        ({"memory": 4_000_000}, "tasks waited for memory on n1 20 % of the time"),
    ],
)
def test_what_disturbed_it_is_said_with_who_and_how_much(
    tmp_path: Path, more: dict[str, int], words: str
) -> None:
    node(tmp_path, "n1", **more)
    rank(tmp_path, 0, "n1", seconds="10" if "own" in more else "19")
    (found,) = find_disturbances(tmp_path, shared=False)
    assert found.startswith(words)


def test_ranks_of_one_job_that_share_a_cpu_do_not_disturb_each_other(tmp_path: Path) -> None:
    for number, host in enumerate(("n1", "n2")):
        node(tmp_path, host)
        rank(tmp_path, number, host, seconds="9.5")
    assert find_disturbances(tmp_path, shared=True) == []
    # On machines of their own the other half would be somebody else's.
    assert len(find_disturbances(tmp_path, shared=False)) == 2


def test_a_rank_that_ended_before_it_told_its_cpus_takes_none(tmp_path: Path) -> None:
    node(tmp_path, "n1")
    rank(tmp_path, 0, "n1", cpus="")
    rank(tmp_path, 1, "n1")
    assert find_disturbances(tmp_path, shared=False) == []


def test_a_rank_that_was_killed_is_supposed_to_have_had_its_cpu(tmp_path: Path) -> None:
    node(tmp_path, "n1")
    rank(tmp_path, 0, "n1", seconds="")
    assert find_disturbances(tmp_path, shared=False) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        f"told start n1 1.0\nproc/stat:cpu0 {ticks(1, 0, 9000)}\nend\n",
        "told start n1 1.0\nproc/stat:cpu0 x\nend\ntold stop n1 1.0\nproc/stat:cpu0 x\nend\n",
        "cpu\n\0\nkernel\n",
    ],
)
def test_what_told_only_one_moment_or_is_damaged_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "node.n1").write_text(text)
    rank(tmp_path, 0, "n1")
    assert find_disturbances(tmp_path, shared=False) == []


def test_a_job_of_a_moment_is_too_short_to_tell(tmp_path: Path) -> None:
    count = int(100 * LEAST_SECONDS) - 1
    (tmp_path / "node.n1").write_text(
        f"told start n1 1.0\nproc/stat:cpu0 {ticks(0, 0, 0)}\nend\n"
        f"told stop n1 1.2\nproc/stat:cpu0 {ticks(count, 0, count)}\nend\n"
    )
    rank(tmp_path, 0, "n1", seconds="0.00")
    assert find_disturbances(tmp_path, shared=False) == []
