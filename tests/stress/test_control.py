"""The verbs with a scheduler that stands in for Slurm's commands."""

import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.refusals import refused
from tests.stress.made import SESSION, block, place
from typer.testing import CliRunner

from fabricheck import schedulers
from fabricheck.cli.stress import app
from fabricheck.errors import FabricheckError
from fabricheck.schedulers.local import Local, birth
from fabricheck.schedulers.protocol import Phase
from fabricheck.schedulers.slurm import Slurm
from fabricheck.sites.extras import StressExtra
from fabricheck.stress import control
from fabricheck.stress.control import Wish
from fabricheck.stress.judged import results
from fabricheck.stress.state import dead_nodes, job_script, scheduler_for
from fabricheck.units import seconds_of

pytestmark = pytest.mark.integration

Stand = Callable[..., Path]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    """Makes a command of Slurm print a text and end with a code; keeps what it was called with."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    on_login = bin_ / "on-login"
    on_login.write_text('#!/bin/sh\nshift; exec "$@"\n')
    on_login.chmod(0o755)
    monkeypatch.setattr(schedulers, "_ON_LOGIN", str(on_login))
    monkeypatch.setenv("PATH", f"{bin_}:/usr/bin:/bin")

    def make(name: str, text: str = "", code: int = 0) -> Path:
        calls = tmp_path / f"{name}.calls"
        stream = ">&2" if code else ""
        (bin_ / name).write_text(
            f"#!/bin/sh\necho \"$*\" >>{calls}\nprintf '%s' '{text}' {stream}\nexit {code}\n"
        )
        (bin_ / name).chmod(0o755)
        return calls

    return make


PLAN = {
    "system": "testbed",
    "exclude": ["n3"],
    "nodes": 2,
    "blocks": [{"ranks": [2, 1]}],
    "seconds": 3600,
    "block_limit": 300,
    "options": ["--partition=stress"],
    "every": 3600,
    "mix": "mix once",
    "mixes": [{"first": 0, "count": 1, "pause": 0}],
}
SHOWN = {"placement": "tcp-2n", "environ": "openmpi", "duty": 1, "pause": 0}


def test_a_job_yields_comes_back_and_ends_after_a_block(slurm: Stand, tmp_path: Path) -> None:
    calls = slurm("sbatch", "17;cluster")
    assert (
        Slurm().submit("fabricheck-stress-s", tmp_path / "job.sh", tmp_path / "log", PLAN) == "17"
    )
    words = calls.read_text().split()
    assert {
        "--job-name=fabricheck-stress-s",
        "--dependency=singleton",
        "--requeue",
        "--exclusive",
        "--nice",
        "--signal=B:TERM@60",
        "--open-mode=append",
        "--exclude=n3",
        "--nodes=2",
        "--partition=stress",
        "--time=67",
    } <= set(words)


def test_a_job_that_submits_the_next_hands_none_of_its_variables_on(
    slurm: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = slurm("sbatch", "18")
    script = calls.with_name("bin") / "sbatch"
    script.write_text(script.read_text().replace("printf", f"env >{tmp_path / 'env'}; printf", 1))
    monkeypatch.setenv("SLURM_RESTART_COUNT", "3")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm.conf")
    Slurm().submit("s", tmp_path / "job.sh", tmp_path / "log", PLAN | {"begin": 300.0})
    assert "--begin=now+300" in calls.read_text().split()
    given = (tmp_path / "env").read_text()
    assert "SLURM_CONF=" in given
    assert "SLURM_RESTART_COUNT" not in given


def test_nodes_of_the_partition_that_the_options_name(slurm: Stand) -> None:
    rows = "n1 idle main*", "n1 idle stress", "n2 drained stress", "n3 down* stress"
    slurm("sinfo", "\n".join([*rows, "n4 mixed stress"]))
    assert Slurm().nodes_for(["--qos=low", "--partition=stress"]) == {"n1": "idle", "n4": "mixed"}
    assert Slurm().nodes_for([]) == {"n1": "idle"}


@pytest.mark.parametrize(
    ("text", "phase", "why"),
    [
        ("RUNNING|None|n[1-2]", Phase.RUNNING, "RUNNING"),
        ("COMPLETING|None|n1", Phase.RUNNING, "COMPLETING"),
        ("PENDING|BeginTime|", Phase.WAITING, "BeginTime"),
        ("FAILED|NonZeroExitCode|", Phase.GONE, "FAILED"),
        ("", Phase.GONE, ""),
    ],
)
def test_what_slurm_says(slurm: Stand, text: str, phase: Phase, why: str) -> None:
    slurm("squeue", text)
    found = Slurm().standing("s", "17")
    assert (found.phase, found.why) == (phase, why)


def test_a_job_that_slurm_has_forgotten_is_gone_and_silence_is_not(slurm: Stand) -> None:
    slurm("squeue", "slurm_load_jobs error: Invalid job id specified", 1)
    assert Slurm().standing("s", "17").phase is Phase.GONE
    slurm("squeue", "Unable to contact slurm controller", 1)
    with pytest.raises(FabricheckError, match="answer of squeue, found: Unable to contact"):
        Slurm().standing("s", "17")


def test_a_job_of_that_number_and_another_name_is_none(slurm: Stand) -> None:
    calls = slurm("squeue")
    assert Slurm().standing("fabricheck-stress-rx", "1").phase is Phase.GONE
    assert "--jobs=1 --name=fabricheck-stress-rx --states=all --format" in calls.read_text()


def test_a_scheduler_that_hangs_is_waited_for_as_long_as_the_caller_says(slurm: Stand) -> None:
    slurm("squeue").with_name("bin").joinpath("squeue").write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(FabricheckError, match=r"squeue, found: .*timed out after 0\.1"):
        scheduler_for(PLAN | {"scheduler": "slurm"}, 0.1).standing("s", "17")


def test_a_job_that_waits_is_cancelled_and_one_that_runs_is_told(slurm: Stand) -> None:
    calls = slurm("scancel")
    slurm("squeue", "PENDING|Resources|")
    Slurm().stop("s", "17")
    slurm("squeue", "RUNNING|None|n1")
    Slurm().stop("s", "17")
    assert calls.read_text().splitlines() == ["17", "--batch --signal=TERM 17"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("scancel: error: Kill job error on job id 17: Invalid job id specified", 1),
        ("Job/step already completing or completed", 1),
        ("", 229),
    ],
)
def test_a_job_that_ended_before_the_signal_has_stopped(
    slurm: Stand, words: str, code: int
) -> None:
    slurm("squeue", "RUNNING|None|n1")
    slurm("scancel", words, code)
    Slurm().stop("s", "17")
    slurm("scancel", "scancel: error: Access/permission denied", 1)
    with refused("FC2403", "scancel, found: .*denied"):
        Slurm().stop("s", "17")


def test_what_something_killed_is_closed_and_recorded_once(
    slurm: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm("squeue", "FAILED|RaisedSignal:9|")
    monkeypatch.setattr(control, "PERFLOGS", tmp_path / "perflogs")
    made = place(tmp_path / "s", block("1.1"), scheduler="slurm", job="17")
    for _ in range(2):
        control.close(made)
    assert made.state().ended
    assert made.state().why == "its job is gone (FAILED)"
    (file,) = (tmp_path / "perflogs").rglob("*.jsonl")
    assert file.read_text().count(SESSION) == 2  # of one line: session and id


def test_a_stop_waits_for_the_end_of_the_job_and_not_of_its_last_block(
    slurm: Stand, tmp_path: Path
) -> None:
    made = place(tmp_path / "s", scheduler="slurm", job="17", ended=1.0)
    slurm("squeue", "COMPLETING|None|n1")
    with pytest.raises(FabricheckError, match="expected job 17 to end within 0 s"):
        control.wait_for_end(made, 0)
    slurm("squeue")
    control.wait_for_end(made, 0)


def test_a_process_of_this_machine_is_known_by_its_number_and_its_begin(tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("exec sleep 60\n")
    local = Local()
    job = local.submit("s", script, tmp_path / "log", {})
    assert local.standing("s", job).phase is Phase.RUNNING
    assert local.standing("s", f"{job}1").phase is Phase.GONE
    local.stop("s", f"{job}1")
    assert local.standing("s", job).phase is Phase.RUNNING
    local.stop("s", job, now=True)
    os.waitpid(int(job.partition(".")[0]), 0)
    assert local.standing("s", job).phase is Phase.GONE


def test_the_block_under_way_ends_with_its_process(tmp_path: Path) -> None:
    script, block = tmp_path / "job.sh", tmp_path / "block"
    script.write_text(
        f"setsid sh -c 'echo $$ >{block}.part; mv {block}.part {block}; exec sleep 60' & wait\n"
    )
    local = Local()
    job = local.submit("s", script, tmp_path / "log", {})
    while not block.exists():
        time.sleep(0.01)
    pid = int(block.read_text())
    assert birth(pid)
    local.stop("s", job, now=True)
    os.waitpid(int(job.partition(".")[0]), 0)
    while birth(pid):
        time.sleep(0.01)


def test_silent_nodes_and_dead_ports_are_left_out(slurm: Stand) -> None:
    slurm("sinfo", "n1 idle\nn2 down*\nn9 down*")
    cause = "link down on n4 mlx5_0:1: the port is DOWN (Polling): look at the cable"
    blocks = [block("1.1"), replace(block("1.2"), fabric_causes=(cause,))]
    found = dead_nodes(blocks[0].nodes, blocks, Slurm(), Slurm().node_states())
    assert found == {"n2": "Slurm reports down*", "n4": cause}


def test_what_was_found_dead_is_left_out_of_the_next_start(
    slurm: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = "link down on n4 mlx5_0:1: the port is DOWN (Polling): look at the cable"
    states = "n1 idle\\nn2 down*\\nn3 idle\\nn4 idle\\n"
    # Of the partition it says that only while it is up.
    slurm("sinfo").with_name("bin").joinpath("sinfo").write_text(
        f"#!/bin/sh\ncase $* in *%P*) ;; *) printf '{states}' ;; esac\n"
    )
    slurm("squeue")
    calls = slurm("sbatch", "18")
    monkeypatch.setattr(control, "REPORTS", tmp_path)
    monkeypatch.setattr(control, "PERFLOGS", tmp_path / "perflogs")
    plan = PLAN | {"scheduler": "slurm", "exclude": ["n9"]} | SHOWN
    monkeypatch.setattr(control, "_request", lambda *_: plan)
    monkeypatch.setattr(control, "make_plan", lambda suite, path, request, lock: request)
    blocks = [block("1.1"), replace(block("1.2"), fabric_causes=(cause,))]
    place(tmp_path / "stress" / "testbed", *blocks, scheduler="slurm", job="17")
    said: list[str] = []

    control.start(Wish(system="testbed", exclude=("n9",)), said.append)
    assert "--exclude=n2,n4,n9" in calls.read_text().split()
    assert said[0].startswith("left out: n2: Slurm reports down*; to keep users off it: ")
    assert said[1].startswith(f"left out: n4: {cause}; to keep users off it: ")
    assert "scontrol update nodename=n4" in said[1]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (Wish(system="thor2-2n"), "extras have 'stress' in its site file, found none"),
        (Wish(system="testbed", partition="rdma"), "a partition that allows stress"),
        (Wish(system="nowhere"), "expected a system of sites/"),
        (Wish(system="local", seconds=1e6), "at most 86400 s of stress"),
        (Wish(system="local", duty=0), "a duty above 0"),
        (Wish(system="local", name="../up"), "a name of letters"),
        (Wish(system="local", name=".."), "begins with a letter or a digit, found '..'"),
        (Wish(system="local", name="."), "begins with a letter or a digit"),
        (Wish(system="local", mix="unknown"), "expected a mix"),
    ],
)
def test_what_is_not_allowed_is_refused_before_anything_begins(
    wish: Wish, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "REPORTS", tmp_path)
    with pytest.raises(FabricheckError, match=message):
        control.start(wish, print)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("says", "message"),
    [
        ({"environ": "openmpi", "placement": "rc-4n"}, "found no rdma and no nodes_4: correct"),
        ({"environ": "mpich", "placement": "tcp-2n"}, "found no environment mpich: correct"),
        ({"environ": "openmpi", "placement": "shm-1n"}, "at most 1 nodes, which the site file"),
    ],
)
def test_a_site_that_allows_what_it_has_not_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: dict[str, str], message: str
) -> None:
    partition = {
        "name": "main",
        "scheduler": "squeue",
        "features": ["tcp", "nodes_2"],
        "environs": ["openmpi"],
    }
    monkeypatch.setattr(control, "REPORTS", tmp_path)
    monkeypatch.setattr(control, "_partition", lambda wish: (partition, StressExtra.of(says)))
    wanted = "tcp-2n" if says["placement"] == "shm-1n" else ""
    with pytest.raises(FabricheckError, match=message):
        control.start(Wish(system="hpc", placement=wanted), print)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("1h30m", 5400), ("2d", 172800)])
def test_times(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "1", "0s", "1h-1", "h", "1m1h"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(FabricheckError, match="a time such as 90s"):
        seconds_of(text)


def test_a_name_is_needed_where_there_are_several(tmp_path: Path) -> None:
    with pytest.raises(
        FabricheckError, match=r"^No stress is running\. Start one with 'fabricheck"
    ):
        control.place_of("", tmp_path)
    place(tmp_path / "stress" / "s", ended=1.0)
    assert control.place_of("", tmp_path).name == "s"
    ended = place(tmp_path / "stress" / "t")
    # Of one that has ended and one that goes on, only one can be meant.
    assert control.place_of("", tmp_path).name == "t"
    ended.change(ended=2.0)
    with pytest.raises(FabricheckError, match=r"\(s, t\), found 'no name'"):
        control.place_of("", tmp_path)
    assert control.place_of("s", tmp_path).name == "s"


@pytest.mark.parametrize("command", ["status", "servers"])
def test_the_use_of_links_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    made = place(tmp_path / "s", block("1.1", nodes=2), ended=1.0)
    monkeypatch.setattr(control, "place_of", lambda _: made)
    text = CliRunner().invoke(app, [command]).stdout
    for node in ("n1", "n2"):
        assert re.search(rf"{node}.*: .*unknown, its ports were not read$", text, re.MULTILINE)
    assert "link use" in text


def test_the_job_is_the_worker_itself() -> None:
    assert job_script(Path("/a b")).endswith("-m fabricheck stress work '/a b'\n")


def test_results_have_the_last_five_sizes_in_units_that_fit(tmp_path: Path) -> None:
    sizes = [block("1.1", value=10.0 * 4**each, size=(1 << 20) >> (6 - each)) for each in range(7)]
    whole = replace(sizes[0], samples=tuple(s for case in sizes for s in case.samples))
    critical = replace(block("1.2", "bcast", level="critical"), findings=("too slow",))
    text = results(place(tmp_path / "s"), [whole, critical])
    rows = [line.split() for line in text.splitlines()]
    assert [row[0] for row in rows if row and row[0].endswith("iB")] == [
        *("64KiB", "128KiB", "256KiB", "512KiB", "1MiB"), "4MiB",
    ]  # fmt: skip
    assert ["1MiB", "41.0", "ms", "41.0", "ms", "41.0", "ms"] in rows
    assert "bcast, 8 nodes: critical" in text
    assert "  too slow" in text
    assert "found none: look at" in results(place(tmp_path / "t"), [])
