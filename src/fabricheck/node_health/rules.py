"""The prerequisites: what is expected of each node, who says so, and how grave it is otherwise."""

from fabricheck.judge.levels import Level
from fabricheck.node_health import nodes, software
from fabricheck.node_health.survey import Rule, Survey


def _always(_survey: Survey) -> bool:
    return True


def _without_mpi(survey: Survey) -> bool:
    return not survey.family


def _with_mpi(survey: Survey) -> bool:
    return bool(survey.family)


def _with_ucx(survey: Survey) -> bool:
    return "ucx" in software.programs(survey.family)


LAUNCH, CLOCK = "launch", "clock"

_SETUP = "MPI AI Cluster Benchmark, docs/SETUP.md"

RULES = (
    Rule(
        LAUNCH,
        "the launcher reaches every node of the partition without asking for a password",
        f"{_SETUP}; Open MPI, Launching with SSH",
        Level.CRITICAL,
        nodes.launch,
        _always,
    ),
    Rule(
        "kernel",
        "the same release on every node",
        "a node that an update has missed measures something else",
        Level.WARNING,
        nodes.kernel,
        _without_mpi,
    ),
    Rule(
        CLOCK,
        "within {clock_skew} seconds of the other nodes",
        "RFC 5905: NTP sets a clock that is 128 ms off, instead of steering it",
        Level.CRITICAL,
        nodes.clock,
        _without_mpi,
    ),
    Rule(
        "memlock",
        "{memlock} lockable memory, where there is RDMA",
        "registered memory is locked: Red Hat, Networking Guide, Relaxing memlock restrictions",
        Level.CRITICAL,
        nodes.memlock,
        _without_mpi,
    ),
    Rule(
        "hugepages",
        "transparent huge pages in one of {transparent_hugepages}; {hugepages} reserved",
        "fewer pages for the card to translate: kernel, admin-guide/mm/transhuge",
        Level.WARNING,
        nodes.hugepages,
        _without_mpi,
    ),
    Rule(
        "governor",
        "{governor} on every CPU",
        f"{_SETUP}; kernel, admin-guide/pm/cpufreq",
        Level.WARNING,
        nodes.governor,
        _without_mpi,
    ),
    Rule(
        "rdma",
        "the port of ucx_net_devices, else any port, is active, where the partition offers rdma",
        f"{_SETUP}: ibstat says Active",
        Level.CRITICAL,
        nodes.rdma,
        _without_mpi,
    ),
    Rule(
        "numa",
        "the job's CPUs are at most {numa_distance} from the card",
        "10 is local: ACPI, System Locality Information Table",
        Level.WARNING,
        nodes.numa,
        _without_mpi,
    ),
    Rule(
        "mtu",
        "the same on every node, and {mtu} where the site says so",
        f"{_SETUP}; what is larger than the receiver's MTU is lost",
        Level.CRITICAL,
        nodes.mtu,
        _without_mpi,
    ),
    Rule(
        "mpi version",
        "of the environment's MPI, the same on every node, and at least {versions}",
        f"{_SETUP}; Open MPI, README: different versions are not guaranteed to work together",
        Level.CRITICAL,
        software.mpi_version,
        _with_mpi,
    ),
    Rule(
        "ucx version",
        "the same on every node, and at least {versions}",
        f"{_SETUP}; UCX before 1.16 does not tell the other side its version",
        Level.CRITICAL,
        software.ucx_version,
        _with_ucx,
    ),
    Rule(
        "osu version",
        "the same on every node, and at least {versions}",
        _SETUP,
        Level.WARNING,
        software.osu_version,
        _with_mpi,
    ),
)
"""The prerequisites, in the order in which they are shown."""
