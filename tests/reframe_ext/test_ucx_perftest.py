"""The check of ucx_perftest: the real program over shared memory, and one that misbehaves."""

import functools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.reframe_ext.pair_suite import BIN, Ran

pytestmark = pytest.mark.integration

PROGRAM = "ucx_perftest"
SIZES = (1, 8, 256)


class UcxRan(Ran):
    """A case of ucx_perftest, and its batch."""

    def __init__(self, place: Path, benchmark: str, wrapper: str = "") -> None:
        real = shutil.which(PROGRAM)
        assert real, f"expected {PROGRAM} on PATH (ci/setup installs it), found none"
        programs = place / "bin"
        programs.mkdir()
        (programs / "both-ranks").symlink_to(BIN / "both-ranks")
        if wrapper:
            script = programs / PROGRAM
            script.write_text(f"#!/bin/sh\nreal={real}\n{wrapper}\n")
            script.chmod(0o755)
        super().__init__(
            place,
            "ucx_perftest.py",
            f"benchmark == {benchmark!r}",
            features=["shm", "nodes_1"],
            extras={"max_message_size": 256, "time_budget": 0.001, "size_step": 32},
            programs=[programs],
        )
        (batch,) = place.glob(f"stage/**/{benchmark}.batch")
        self.batch = batch.read_text().splitlines()


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., UcxRan]:
    return functools.partial(UcxRan, tmp_path)


@pytest.mark.parametrize("benchmark", ["ucx_tag_lat", "ucx_get_bw"])
def test_a_good_run_is_believed(ran: Callable[..., UcxRan], benchmark: str) -> None:
    good = ran(benchmark)
    # The system has no reference file, so nothing judges what has been proved.
    assert good.level == "no-reference", good.findings
    assert [line.split()[0] for line in good.batch] == [f"{benchmark}:{size}" for size in SIZES]
    samples = good.case["samples"]
    assert len(samples) == 2 * len(SIZES)
    assert all(each.value > 0 for each in samples)
    assert good.case["program"] == PROGRAM
    assert good.case["program_version"] == good.case["ucx_version"] != ""
    assert "UCX lanes " in good.case["evidence"]
    assert "sysv/memory" in good.case["evidence"] or "posix/memory" in good.case["evidence"]


def test_another_transport_than_the_one_asked_for_is_untrusted(ran: Callable[..., UcxRan]) -> None:
    wrong = ran("ucx_tag_lat", 'UCX_TLS=tcp,self UCX_NET_DEVICES=lo exec $real "$@"')
    assert wrong.level == "untrusted"
    assert wrong.findings[0].startswith("expected data lanes on shm (")
    assert "tcp/lo" in wrong.findings[0]


def test_ucx_itself_says_why_no_test_of_the_batch_ran(ran: Callable[..., UcxRan]) -> None:
    refused = ran("ucx_tag_lat", 'UCX_TLS=rc_nonsense,self exec $real "$@"')
    assert refused.level == "untrusted"
    assert refused.findings[0].startswith("UCX on ")
    assert "transport 'rc_nonsense' is not available" in refused.findings[0]
    assert "every test of the batch failed" in refused.findings[0]


SERVER = '[ "$SLURM_PROCID" = 0 ] && exec $real "$@"; '


@pytest.mark.parametrize(
    ("client", "message"),
    [
        ('$real "$@" | sed /:8,/d', "but 8B is missing"),
        ('$real "$@" | sed /:256,/d', "but 256B is missing"),
        ('$real "$@" >/dev/null', "the client did not start"),
        ('$real "$@"; exit 3', "ended with exit code 3"),
    ],
)
def test_what_is_damaged_or_missing_is_named(
    ran: Callable[..., UcxRan], client: str, message: str
) -> None:
    bad = ran("ucx_tag_lat", SERVER + client)
    assert bad.level == "untrusted"
    assert message in bad.findings[0]


def test_a_server_that_never_listens_is_named(ran: Callable[..., UcxRan]) -> None:
    bad = ran("ucx_tag_lat", "echo no licence >&2; exit 7")
    assert bad.level == "untrusted"
    assert "its last words: no licence" in bad.findings[0]
