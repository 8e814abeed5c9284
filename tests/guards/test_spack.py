"""Programs that Spack has built, on nodes with RDMA; collected where a store is named."""

import os
import shutil
from pathlib import Path

import pytest
from tests.guards.suite import REPOSITORY, Suite

from fabricheck_testbed import Testbed

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("spack")]

STORE = os.environ.get("FABRICHECK_STORE", "")

# No skip, which fails where the tools of Debian are there: to make a store takes half an hour.
# The head of a run of pytest says that nothing is collected here.
if STORE:

    def test_osu_of_spack_is_proved_by_the_ucx_of_a_node(
        can_run_guests: None, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        spack = shutil.which("spack")
        assert spack is not None, (
            "expected spack on PATH beside FABRICHECK_STORE: source setup-env.sh"
        )
        directory = tmp_path_factory.mktemp("spack")
        (directory / "suite").mkdir()
        testbed = Testbed(directory / "tb")
        suite = Suite(directory / "suite", testbed, partition="rdma")
        for name in ("spack.yaml", "spack.lock"):
            shutil.copy(REPOSITORY / name, suite.root)
        try:
            testbed.up(
                nodes=1,
                rdma=True,
                shares=[directory, Path(STORE), Path(spack).resolve().parents[1]],
            )
            outcome = suite.run("rc-2n", environ="openmpi-spack")
        finally:
            testbed.down()
        assert (outcome.reframe_exit, outcome.report_exit) == (0, 0)
        assert (outcome.case["program"], outcome.case["level"]) == ("osu", "good")
        assert "rc_verbs" in outcome.case["evidence"]
