"""Cases of one second each on two nodes, and ReFrame's configuration to run them in two ways."""

import os

import reframe as rfm
from reframe.core.builtins import parameter, run_after, sanity_function
from reframe.utility import sanity as sn

from fabricheck.reframe_ext import allocation

site_configuration = {
    "systems": [
        {
            "name": "measured",
            "hostnames": [".*"],
            "prefix": os.environ["PLACE"],
            "partitions": [
                {
                    "name": "main",
                    "scheduler": os.environ["SCHEDULER"],
                    "launcher": "srun",
                    "access": ["--partition=main"],
                    "environs": ["builtin"],
                    "max_jobs": 1,
                    "extras": {allocation.NAME: {"nodes": 2, "time": "1h"}},
                    "sched_options": {"use_nodes_option": True},
                }
            ],
        }
    ],
    "general": [{"poll_rate_min": 5, "report_file": f"{os.environ['PLACE']}/report.json"}],
}


@rfm.simple_test
class Second(rfm.RunOnlyRegressionTest):
    """One second of work on each of two nodes."""

    number = parameter(range(int(os.environ["CASES"])))
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    executable = "sleep"
    executable_opts = ["1"]
    num_tasks = 2
    num_tasks_per_node = 1

    @run_after("setup")
    def start(self) -> None:
        """No PMI: there is no MPI."""
        self.job.launcher.options = ["--mpi=none"]

    @sanity_function
    def ended(self) -> bool:
        """No launcher has complained."""
        return sn.assert_not_found("error", self.stderr)
