"""Who serves collectives is read of real MPIs, and a silent fallback is not believed."""

from pathlib import Path

import pytest

from fabricheck.transports.offload import OFFLOADS, check_offload, offload_variables

DATA = Path(__file__).parents[1] / "data" / "offload"
GROUP = "[n1:0:7 - comm.c:393] INFO [group#:0] group id:3c tree idx:0 tree_type:LLT\n"


def words(name: str) -> str:
    return (DATA / f"openmpi-{name}.txt").read_text()


def served_by(component: str) -> str:
    """As of an Open MPI 5 with this component; made up."""
    return words("5.0.11").replace("tuned, priority  30", f"{component}, priority 100")


@pytest.mark.parametrize("name", ["4.1.4", "5.0.11"])
def test_the_component_that_served_is_named(name: str) -> None:
    assert check_offload("", words(name), 2) == ("collectives by tuned", [])


def test_an_mpi_that_says_nothing_of_it_is_no_reason_to_doubt_unless_one_was_asked_for() -> None:
    assert check_offload("", "", 2) == ("", [])
    _, (objection,) = check_offload("hcoll", "", 2)
    assert "on all 2 ranks, found none on 0" in objection


def test_a_component_that_gave_way_without_a_word_is_not_believed() -> None:
    # han at priority 100, which leaves communicators inside a node to others.
    evidence, (objection,) = check_offload("han", words("5.0.11-han-asked"), 2)
    assert evidence == "collectives by tuned"
    assert objection.startswith(
        "expected collectives by han (coll/han) on all 2 ranks, found tuned on 2: the MPI fell back"
    )


@pytest.mark.parametrize("offload", OFFLOADS)
def test_one_that_served_all_ranks_is_believed(offload: str) -> None:
    text = served_by(OFFLOADS[offload].component) + GROUP
    assert check_offload(offload, text, 2)[1] == []
    one = next(line for line in text.splitlines() if "priority 100" in line)
    for broken, ranks in ((text.replace(one, ""), 2), (text, 3)):
        assert len(check_offload(offload, broken, ranks)[1]) == 1


def test_sharp_must_name_its_groups() -> None:
    _, (objection,) = check_offload("sharp", served_by("hcoll"), 2)
    assert objection.startswith("expected sharp to name the groups that it made, found none")


def test_only_open_mpi_is_asked() -> None:
    assert offload_variables("mpich", "ucc") == {}
    assert offload_variables("openmpi", "") == {"OMPI_MCA_coll_base_verbose": "9"}
    assert offload_variables("openmpi", "ucc")["OMPI_MCA_coll_ucc_enable"] == "1"
