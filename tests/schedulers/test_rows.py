from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.schedulers import launcher_of, scheduler_of
from fabricheck.schedulers.slurm import SLURM


def test_of_a_scheduler_without_a_row_nothing_is_known() -> None:
    flux = scheduler_of("flux")
    assert (flux.lists_nodes, flux.is_alone, flux.known_states()) == (False, False, {})
    assert flux.job({"SLURM_JOB_ID": "7"}) == ("", 0)
    assert not flux.time_limit.search("*** JOB 7 CANCELLED DUE TO TIME LIMIT ***")
    with pytest.raises(FabricheckError, match="can submit a stress, found flux"):
        flux.submit("s", Path("job.sh"), Path("log"), {})
    assert launcher_of("lrun").with_mpi == ()


def test_rows_have_reframes_names() -> None:
    assert scheduler_of("squeue") is scheduler_of("slurm") is SLURM
    assert scheduler_of("allocation").command != SLURM.command
    assert SLURM.job({"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": "2"}) == ("7", 2)
