"""What of two runs is told as another verdict."""

import importlib.util

from fabricheck.provenance import SUITE
from fabricheck.record.costs import Key
from fabricheck.report.status import Status

SPEC = importlib.util.spec_from_file_location("schedulers", SUITE / "lab" / "compare-schedulers.py")
assert SPEC
assert SPEC.loader
lab = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lab)

KEY = Key("main", "openmpi", "MpiPointToPoint", "latency", "tcp-2n")


def test_another_verdict_a_lost_proof_and_a_lost_case_are_told() -> None:
    good = lab.Told(Status.GOOD, True, 20, "1")
    assert not list(
        lab.differences({"allocation": {KEY: good}, "squeue": {KEY: good._replace(job="2")}})
    )
    for other in (
        good._replace(status=Status.CRITICAL),
        good._replace(proved=False),
        good._replace(values=19),
    ):
        (line,) = lab.differences({"allocation": {KEY: good}, "squeue": {KEY: other}})
        assert "latency tcp-2n: allocation good, proved, 20 values; squeue" in line
    disturbed = good._replace(status=Status.DISTURBED, values=0)
    assert not list(lab.differences({"allocation": {KEY: good}, "squeue": {KEY: disturbed}}))
    (line,) = lab.differences({"allocation": {}, "squeue": {KEY: good}})
    assert line.endswith("only with squeue")
