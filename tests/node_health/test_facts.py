"""Facts are believed whole, or not at all."""

from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.node_health.facts import read_facts

TEXT = """\
told facts n2 17.5
proc/cpuinfo:flags\t\t: fpu hypervisor sse
proc/sys/kernel/osrelease:6.1.0-56-amd64
proc/self/status:CapEff:\t000001ffffffffff
proc/self/status:Cpus_allowed_list:\t0-2,5
proc/self/limits:Limit                     Soft Limit           Hard Limit           Units
proc/self/limits:Max locked memory         unlimited            unlimited            bytes
sys/devices/system/cpu/cpu0/cpufreq/scaling_governor:performance
sys/kernel/mm/transparent_hugepage/enabled:always [madvise] never
sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages:16
sys/devices/system/node/node0/cpulist:0,1
sys/devices/system/node/node0/distance:10
sys/class/net/lo/mtu:65536
sys/class/infiniband/rxe0/ports/1/state:4: ACTIVE
sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0:v0
end
told versions n2 0
ucx:# Version 1.13.1
osu:
clock:1795252692135181094
end
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "node.n2"
    file.write_text(TEXT)
    return file


def test_whole_facts(path: Path) -> None:
    facts = read_facts(path)
    assert (facts.node, facts.virtual, facts.memlock, facts.locks_freely) == (
        "n2",
        True,
        None,
        True,
    )
    assert facts.cpus == {0, 1, 2, 5}
    assert facts.versions == {"ucx": "Version 1.13.1", "osu": ""}


@pytest.mark.parametrize("number", range(len(TEXT.splitlines())))
def test_facts_that_are_cut_anywhere_name_their_node(path: Path, number: int) -> None:
    path.write_text("".join(TEXT.splitlines(keepends=True)[:number]))
    with refused("FC1506", r"^node\.n2: .* are cut"):
        read_facts(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("CapEff:\t000001ffffffffff", "CapEff:\tx"),
        ("list:\t0-2,5", "list:\tzero"),
        ("memory         unlimited", "memory         much"),
        ("always [madvise] never", "always madvise never"),
        ("nr_hugepages:16", "nr_hugepages:many"),
        ("node0/cpulist:0,1", "node0/cpulist:zero"),
        ("distance:10", "distance:near"),
        ("lo/mtu:65536", "lo/mtu:wide"),
        ("clock:1795252692135181094", "clock:noon"),
        ("proc/sys/kernel/osrelease:6.1.0-56-amd64\n", ""),
        ("proc/self/status:CapEff:\t000001ffffffffff\n", ""),
        ("Max locked memory", "Max looked memory"),
    ],
)
def test_damaged_facts_name_their_node(path: Path, old: str, new: str) -> None:
    assert TEXT.count(old) == 1
    path.write_text(TEXT.replace(old, new))
    with refused("FC1507", r"^node\.n2: .* are damaged, run the case again"):
        read_facts(path)
