"""``fabricheck run`` with a testbed that cannot have its RDMA devices."""

import pytest

from fabricheck.cli import run as run_module
from fabricheck.errors import FabricheckError


@pytest.fixture
def wishes(monkeypatch: pytest.MonkeyPatch) -> list[bool | None]:
    """What the testbed is asked for; it refuses RDMA devices."""
    asked: list[bool | None] = []

    def up(*_: object, rdma: bool | None = None, **__: object) -> None:
        asked.append(rdma)
        if rdma:
            raise FabricheckError("a testbed with --rdma needs QEMU")

    monkeypatch.setattr(run_module.testbed, "up", up)
    return asked


def test_without_rdma_devices_the_rest_is_measured_and_it_says_so_aloud(
    wishes: list[bool | None], capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = run_module._start_testbed(with_rdma=True)
    assert wishes == [True, None]
    assert lacking == (
        "nothing on RDMA devices (partition rdma of the testbed): a testbed with --rdma needs QEMU"
    )
    assert f"NOT MEASURED: {lacking}" in capsys.readouterr().err


def test_who_needs_no_rdma_devices_does_not_start_them(wishes: list[bool | None]) -> None:
    assert run_module._start_testbed(with_rdma=False) is None
    assert wishes == [None]


def test_a_mode_and_an_environment_do_not_go_together() -> None:
    with pytest.raises(FabricheckError, match="expected --mode or --environ, found both"):
        run_module.run(mode="nightly", environ=["mpich"])
