"""Whether the libraries of a job took the variables of a sweep."""

from pathlib import Path

import pytest

from fabricheck.launch.varied import ASKED, questions, shown, taken
from fabricheck.measures.curve import Curve

HEAD = "[1795553383.340457] [n1:6710 :0]          parser.c:1908 UCX  "
QUIET = f"{HEAD}INFO  UCX_* env variables: UCX_TLS=tcp UCX_RNDV_THRESH=8k\n"
UNUSED = f"{HEAD}WARN  unused env variable: UCX_FOO (set UCX_WARN_UNUSED_ENV_VARS=n to suppress)\n"
MEANT = (
    f"{HEAD}WARN  unused environment variables: UCX_A (maybe: UCX_RNDV_THRESH?), UCX_FOO "
    "(maybe: UCX_FOE?) (set UCX_WARN_UNUSED_ENV_VARS=n to suppress this warning)\n"
)


def said(place: Path, told: str | None, *logs: str, **variables: str) -> tuple[str, list[str]]:
    for number, text in enumerate(logs):
        (place / f"ucx.n1.{number}.log").write_text(text)
    metadata = {} if told is None else {"control_variables": told}
    return taken(Curve("allreduce", "mpi_probe", "1", None, metadata, ()), variables, place)


def test_the_libraries_are_asked_only_where_something_is_varied():
    assert questions({}) == {}
    asked = questions({"OMPI_MCA_coll_x": "1", "MPIR_CVAR_Y": "2", "UCX_Z": "3", "FOO": "4"})
    assert asked == {"UCX_WARN_UNUSED_ENV_VARS": "y", ASKED: "coll_x MPIR_CVAR_Y"}


@pytest.mark.parametrize("log", [UNUSED, MEANT])
def test_ucx_denies_what_it_calls_unused_in_the_log_of_any_rank(tmp_path: Path, log: str):
    proof, denied = said(tmp_path, None, QUIET, log, UCX_RNDV_THRESH="8k", UCX_FOO="1")
    assert proof == "UCX did not call UCX_RNDV_THRESH unused"
    assert denied == ["expected UCX to read UCX_FOO, found its warning of an unused variable"]


def test_without_a_log_ucx_read_nothing(tmp_path: Path):
    _, (denied,) = said(tmp_path, "", UCX_RNDV_THRESH="8k")
    assert denied == "expected UCX to read UCX_RNDV_THRESH, found no log of UCX: it did not run"


@pytest.mark.parametrize(
    ("told", "value", "proof", "denied"),
    [
        ("btl=tcp,self coll_x=3", "3", "the MPI reads coll_x as 3", ""),
        ("coll_x=3", "ring", "the MPI reads coll_x as 3", ""),
        ("coll_x=", "ring", "the MPI reads coll_x as text", ""),
        ("coll_x=0", "3", "", "expected the MPI to take coll_x as 3, found 0"),
        ("my_coll_x=3", "3", "", "expected the MPI to read OMPI_MCA_coll_x, found no control"),
        ("", "3", "", "expected the MPI to read OMPI_MCA_coll_x, found no control variable coll_x"),
        (None, "3", "nothing says whether OMPI_MCA_coll_x is read", ""),
    ],
)
def test_an_mpi_reads_its_control_variables_back(
    tmp_path: Path, told: str | None, value: str, proof: str, denied: str
):
    found, sentences = said(tmp_path, told, OMPI_MCA_coll_x=value)
    assert found == proof
    assert "".join(sentences).startswith(denied)
    assert bool(sentences) == bool(denied)


def test_of_other_variables_nothing_says_whether_they_are_read(tmp_path: Path):
    proof, denied = said(tmp_path, "", FI_TCP_IFACE="lo", MPIR_CVAR_Y="2")
    assert proof == "nothing says whether FI_TCP_IFACE is read"
    assert denied == [
        "expected the MPI to read MPIR_CVAR_Y, found no control variable MPIR_CVAR_Y in it"
    ]


def test_a_setting_is_shown_as_a_shell_has_it():
    assert (shown({}), shown({"A": "1", "B": "x y"})) == ("the default", "A=1 B=x y")
