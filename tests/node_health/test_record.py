"""A survey without one of its nodes is not believed, and the node is named."""

from pathlib import Path

import pytest
from tests.node_health.test_facts import TEXT

from fabricheck.errors import FabricheckError
from fabricheck.node_health.clocks import read_record

CLOCK = "allocation n[1-2]\nround 0 1795252692000000000 1795252693000000000\nend\n"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    for name in ("n1", "n2"):
        (tmp_path / f"node.{name}").write_text(TEXT.replace(" n2 ", f" {name} "))
    (tmp_path / "clock").write_text(CLOCK)
    (tmp_path / "err").write_text("")
    return tmp_path


NOT_LAUNCHED = """
srun: error: Task launch for StepId=21.0 failed on node n2: Communication connection failure
srun: error: Application launch failed: Communication connection failure
srun: Job step aborted: Waiting up to 5 seconds for job step to finish.
srun: error: n1: task 0: Killed
"""


def read(job: Path, num_nodes: int = 2, states: dict[str, str] | None = None) -> list[str]:
    nodes, _ = read_record(job, job / "err", num_nodes, lambda: states or {})
    return [facts.node for facts in nodes]


def refusal(job: Path, **kwargs: object) -> str:
    with pytest.raises(FabricheckError) as caught:
        read(job, **kwargs)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_whole_survey(job: Path) -> None:
    assert read(job) == ["n1", "n2"]


def test_a_node_without_facts_is_named(job: Path) -> None:
    (job / "node.n2").unlink()
    (job / "err").write_text("srun: error: Node failure on n2\n\n")
    assert refusal(job, states={"n2": "down*"}) == (
        "expected 2 node(s) to report their facts, found 1 and nothing from n2 (down*); "
        "last words: srun: error: Node failure on n2"
    )


def test_the_end_of_another_node_is_not_the_last_word(job: Path) -> None:
    (job / "node.n2").unlink()
    (job / "err").write_text(NOT_LAUNCHED)
    assert refusal(job).endswith("on node n2: Communication connection failure")


def test_a_node_whose_facts_never_became_whole_is_named(job: Path) -> None:
    (job / "node.n1").rename(job / "node.n1.part")
    (job / "clock").rename(job / "clock.part")
    assert "found 1 and nothing from n1; last words: none" in refusal(job)


def test_cut_facts_name_their_node(job: Path) -> None:
    (job / "node.n1").write_text("told facts n1 17.5\n")
    assert refusal(job).startswith("node.n1: expected what the kernel")


def test_two_tasks_on_one_node_are_no_survey_of_two(job: Path) -> None:
    """The second has written over the first."""
    (job / "node.n2").unlink()
    (job / "clock").write_text(CLOCK.replace("n[1-2]", "n1"))
    assert "expected 2 node(s) to report their facts, found 1;" in refusal(job)


def test_a_job_that_never_began_says_so(tmp_path: Path) -> None:
    assert refusal(tmp_path) == (
        "expected 2 node(s) to report their facts, found 0; last words: none"
    )


def test_a_survey_that_did_not_end_is_not_believed(job: Path) -> None:
    (job / "clock").rename(job / "clock.part")
    assert "found a survey that never ended; last words: none" in refusal(job)
    (job / "clock.part").unlink()
    assert refusal(job) == (
        "clock: expected the times of the nodes, found: No such file or directory: run the case "
        "again"
    )


def test_the_node_that_stopped_answering_is_named(job: Path) -> None:
    (job / "clock").unlink()
    (job / "clock.part").write_text(
        "allocation n[1-2]\nask 1\nanswer 1 n2 1\nanswer 1 n1 1\nround 1 0 2\n"
        "ask 2\nanswer 2 n1 3\n"
    )
    assert "never ended and nothing from n2 (down*); last words" in refusal(
        job, states={"n1": "idle", "n2": "down*"}
    )


def test_without_a_scheduler_there_is_one_node(job: Path) -> None:
    (job / "node.n2").unlink()
    (job / "clock").write_text(CLOCK.replace("n[1-2]", "-"))
    assert read(job, num_nodes=1) == ["n1"]
