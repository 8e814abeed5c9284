"""The sites that the suite ships, and what their words mean."""

import re

import pytest

from fabricheck.planning.site_check import Effect, check
from fabricheck.provenance import SUITE
from fabricheck.sites.features import OF_ENVIRONMENT, OF_PARTITION
from fabricheck.transports.table import TRANSPORTS


def test_the_checks_of_every_node_are_named() -> None:
    bases = ("(NodeSurvey)", "(FabricSurvey)", "(PairSurvey)")
    texts = [path.read_text() for path in (SUITE / "checks").glob("*.py")]
    found = re.findall(r"^class (\w+)(\(\w+\))", "\n".join(texts), re.MULTILINE)
    assert sorted(name for name, base in found if base in bases) == [
        "FabricHealth",
        "NodeHealth",
        "PairHealth",
    ]


@pytest.mark.parametrize("name", ["testbed", "local"])
def test_nothing_is_wrong_with_our_own_sites(name: str) -> None:
    shipped = [remark.words for remark in check(SUITE, name) if remark.effect is Effect.WRONG]
    # Compilers and Slurm may be missing where only Python is installed.
    assert [words for words in shipped if "not on PATH" not in words] == []


def test_every_feature_is_described() -> None:
    page = (SUITE / "docs" / "reference" / "sites.md").read_text()
    # Variants of transports stand in docs/reference/transports.md.
    transports = {each.feature for each in TRANSPORTS.values()} - {"tcp", "rdma", "dc", "shm"}
    features = [*(set(OF_PARTITION) - transports), *OF_ENVIRONMENT, "nodes_1", "node_ranks_N"]
    assert [each for each in features if f"`{each}`" not in page] == []
