"""The guest is told how fast the counter runs that its clock is made of."""

from pathlib import Path

import pytest

from fabricheck_testbed.guest import machine, tsc
from fabricheck_testbed.guest.kernel import Kernel
from fabricheck_testbed.layout import Layout

pytestmark = pytest.mark.integration


def test_two_readings_agree() -> None:
    first, second = tsc.kilohertz(), tsc.kilohertz()

    assert first is not None
    assert second is not None
    assert abs(first - second) < first / 1000


def test_another_processor_has_no_such_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")

    assert tsc.kilohertz() is None


@pytest.mark.parametrize(("khz", "told"), [(2_596_126, True), (None, False)])
def test_the_kernel_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, khz: int | None, told: bool
) -> None:
    monkeypatch.setattr(tsc, "kilohertz", lambda: khz)
    kernel = Kernel("6.1", tmp_path / "vmlinux", [])

    command = machine.qemu_command("qemu", machine.TCG, kernel, Layout(tmp_path), [])

    assert (f"tsc_early_khz={khz}" in command[command.index("-append") + 1]) is told
