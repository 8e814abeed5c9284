"""Cases for the scheduler that runs them in one allocation; ReFrame's configuration stands in the
same file, as it needs two lines of ours."""

import os

import reframe as rfm
from reframe.core.builtins import parameter, run_after, run_before, sanity_function, variable
from reframe.utility import sanity as sn

from fabricheck.reframe_ext import allocation

site_configuration = {
    "systems": [
        {
            "name": "small",
            "hostnames": [".*"],
            "prefix": os.environ.get("PLACE", "."),
            "partitions": [
                {
                    "name": "main",
                    "scheduler": allocation.NAME,
                    "launcher": "srun",
                    "access": ["--partition=main"],
                    "environs": ["builtin"],
                    "max_jobs": int(os.environ.get("MAX_JOBS", "1")),
                    "extras": {
                        "allocation": {
                            "nodes": int(os.environ.get("NODES", "2")),
                            "time": "5m",
                            "side_by_side": "SIDE_BY_SIDE" in os.environ,
                            "after_builds": "AFTER_BUILDS" in os.environ,
                        }
                    },
                    "sched_options": {"use_nodes_option": True},
                }
            ],
        }
    ],
    "general": [
        {"keep_stage_files": True, "report_file": f"{os.environ.get('PLACE', '.')}/report.json"}
    ],
}


class Case(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "sh"
    num_tasks_per_node = 1
    sourcesdir = None
    command = variable(str, value="hostname")

    @run_after("setup")
    def start(self) -> None:
        self.job.launcher.options = ["--mpi=none"]
        self.executable_opts = ["-c", f"'{self.command}'"]

    @sanity_function
    def ends(self) -> bool:
        return sn.assert_eq(sn.count(sn.findall(r"^n\d+$", self.stdout)), self.num_tasks)


@rfm.simple_test
class Plain(Case):
    number = parameter(range(4))
    num_tasks = 2


@rfm.simple_test
class Single(Case):
    number = parameter(range(2))
    command = "echo begin >>$PLACE/log; hostname; sleep 0.2; echo end >>$PLACE/log"


@rfm.simple_test
class Builds(rfm.CompileOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    build_locally = True
    build_system = "CustomBuild"

    @run_before("compile")
    def announce(self) -> None:
        self.build_system.commands = ["sleep 2; echo built >>$PLACE/log"]
        allocation.AllocationScheduler.builds.append(self.build_job)

    @sanity_function
    def built(self) -> bool:
        return sn.assert_true(1)


@rfm.simple_test
class Meets(Case):
    """Ends when both have begun, which they can only side by side."""

    number = parameter(range(2))
    command = "touch $PLACE/begun.$(hostname); until [ $(ls $PLACE/begun.* | wc -l) = 2 ]; do sleep 0.1; done; hostname"  # noqa: E501
    time_limit = "60s"


@rfm.simple_test
class Told(Case):
    postrun_cmds = ["env | grep ^SLURM_ | sort > told.txt"]


@rfm.simple_test
class Hangs(Case):
    command = "hostname; sleep 600"
    time_limit = "2s"


@rfm.simple_test
class Sleeps(Case):
    command = "hostname; sleep 600"


@rfm.simple_test
class LosesIt(Case):
    prerun_cmds = ["scancel $SLURM_JOB_ID; sleep 1"]
