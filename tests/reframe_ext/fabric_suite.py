"""A check that says it used RDMA ports; those are what a recorded tree tells."""

import os

import reframe as rfm
from reframe.core.builtins import run_before, sanity_function, variable

from fabricheck.judge.judgement import Judgement
from fabricheck.judge.levels import Level
from fabricheck.judge.references import Reference
from fabricheck.judge.verdict import Verdict
from fabricheck.measures.curve import Variable
from fabricheck.reframe_ext.judged import Judged
from fabricheck.transports.witness import RANK_WRAPPER

MEASURED = Variable.read("latency_p50_8B")


@rfm.simple_test
class OverPorts(Judged):
    """Ends well, with a good value, whatever the ports do."""

    benchmark = variable(str, value="latency")
    placement = variable(str, value="rc-2n")
    transport = os.environ.get("TRANSPORT", "rc")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    reference = {"*": {"latency_p50_8B": (1.0, None, None, "us")}}

    @run_before("run")
    def launch(self) -> None:
        self.executable = os.environ.get("WRAPPER", str(RANK_WRAPPER))
        self.executable_opts = ["sh", "-c", f"'{os.environ.get('DURING', 'true')}'"]

    @sanity_function
    def prove(self) -> bool:
        objections = ["the peer never came"] if "UNTRUSTED" in os.environ else []
        self.refuse_disturbed(objections)
        if objections:
            self.distrust(objections)
        return True

    def measured_values(self):
        return {MEASURED: (1.0, "us")}

    def find_verdict(self, references, tolerance):
        good = Reference(1.0, None, None, "us")
        level = Level(os.environ.get("VERDICT", Level.GOOD))
        judgement = Judgement(MEASURED, level, 1.0, "us", good, "")
        said = ("in this noise nothing is seen",) if level is Level.UNTRUSTED else ()
        return Verdict(level, (judgement,), said)
