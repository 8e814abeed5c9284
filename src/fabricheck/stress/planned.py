"""The check behind a plan: set up and built as any case, written down where others would run."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import reframe as rfm
from reframe.core.builtins import run_before
from reframe.core.environments import Environment

from fabricheck.judge.references import Reference, Tolerance
from fabricheck.measures.curve import Variable
from fabricheck.provenance import SUITE, commit
from fabricheck.reframe_ext.case import BuiltCase, over
from fabricheck.reframe_ext.container import enter
from fabricheck.reframe_ext.recorder import CaseProvenance
from fabricheck.reframe_ext.reframe import emit_loadenv_commands
from fabricheck.stress.mix import Block
from fabricheck.stress.plan import VARIABLE, setting_as_data

_REQUEST = json.loads(Path(os.environ[VARIABLE]).read_text())
_BLOCKS = msgspec.convert(_REQUEST["blocks"], list[Block])


@rfm.simple_test
class StressBlock(BuiltCase):
    """A block of a mix."""

    descr = "Block of a stress"
    benchmark = over([each.case(_REQUEST["placement"], n) for n, each in enumerate(_BLOCKS, 1)])

    def _resolve(self) -> tuple[dict[Variable, Reference], Tolerance | None]:
        """None here: the worker resolves them for each block."""
        return {}, None

    @run_before("run")
    def write_plan(self) -> None:
        """Write down what would run, in place of running it."""
        self.job.num_tasks, self.job.num_tasks_per_node = self.num_tasks, self.num_tasks_per_node
        partition = self.current_partition
        ranks = enter(self, " ".join([self.executable, *self.executable_opts]))
        variables = Environment("variables", [], self.env_vars.items())
        plan: dict[str, Any] = {
            **_REQUEST["blocks"][self.case.number - 1],
            "setting": setting_as_data(self._setting()),
            "ranks": [self.num_tasks, self.num_tasks_per_node],
            "commit": commit(SUITE),
            "software": CaseProvenance(SUITE).software(self),
            "commands": [
                *partition.prepare_cmds,
                *emit_loadenv_commands(partition.local_env, self.current_environ, variables),
                *self.prerun_cmds,
                f"{self.job.launcher.run_command(self.job)} {ranks}".strip(),
                *self.postrun_cmds,
            ],
        }
        path = Path(_REQUEST["answers"]) / f"block-{self.case.number:03d}.json"
        path.write_text(json.dumps(plan))
        self.skip(msg="it is planned, and runs in the job of the stress")
