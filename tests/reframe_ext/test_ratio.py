"""The case of a ratio: it waits for two others, and tells which of them has no figure."""

from pathlib import Path
from typing import Any

import pytest
from tests.reframe_ext.recorded import measured, reframe

pytestmark = pytest.mark.integration

SUITE = """
import reframe as rfm
from reframe.core.builtins import run_after, run_before

from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.programs.osu.ratio import LatencyRatio
from fabricheck.judge.levels import Level
from fabricheck.judge.verdict import Verdict
from fabricheck.launch.cases import Case
from fabricheck.launch.measurement import Evidence
from fabricheck.reframe_ext.case import BenchmarkCase, measured_on
from fabricheck.reframe_ext.ratio import RatioCase

TIMES = {"rc": 2.0, "ud": 5.0}


@rfm.simple_test
class Measured(BenchmarkCase):
    benchmark = measured_on(["latency"], ["rc-2n", "ud-2n"])
    executable = "true"

    @run_after("init")
    def say(self):
        point = Point(8, {(Metric.LATENCY, "p50"): TIMES[self.transport]}, None, None)
        self.valid_prog_environs = ["*"]
        self._measured.has_links = False
        self._measured.sizes = lambda _: (8,)
        curve = Curve("latency", "mpi_probe", "1", None, {}, (point,))
        self._measured.examine = lambda _: Evidence(curve=curve)

    @run_before("run")
    def launch(self):
        pass

    def find_verdict(self, references, tolerance):
        return Verdict(Level.GOOD, (), ())


@rfm.simple_test
class TransportOrder(RatioCase):
    benchmark = measured_on(["transport_order"], ["ud-2n"])
    ratio_of = staticmethod(
        lambda _: LatencyRatio(Case("latency", "ud-2n"), Case("latency", "rc-2n"), SIZES)
    )
    measured_by = Measured

    @run_after("init")
    def run_anywhere(self):
        self.valid_prog_environs = ["*"]
"""


def ratio(place: Path, sizes: str) -> dict[str, Any]:
    reframe(place, SUITE.replace("SIZES", sizes))
    return next(case for case in measured(place) if case["benchmark"] == "transport_order")


def test_two_medians_are_divided(tmp_path: Path) -> None:
    found = ratio(tmp_path, "(8,)")
    assert [each.value for each in found["samples"]] == [2.5]
    assert str(found["evidence"]).endswith("%transport=rc %num_nodes=2: 2.5 at 8")
    # The system has no reference file, so nothing judges what has been divided.
    assert found["level"] == "no-reference"


def test_a_side_without_the_figure_is_named(tmp_path: Path) -> None:
    found = ratio(tmp_path, "(8, 16)")
    assert (found["level"], found["result"]) == ("untrusted", "fail")
    assert "Measured %benchmark=latency %transport=rc" in found["findings"][0]
    assert "expected latency_p50_16B of latency, found none" in found["findings"][0]
