"""A system that offers every transport to every MPI, below each launcher."""

import os
from pathlib import Path

import yaml

from fabricheck.reframe_ext.config import site_configuration as _site_configuration
from fabricheck.transports.families import MPIS
from fabricheck.transports.table import TRANSPORTS

UNSEEN = ("torque", "lsf")
"""Schedulers of which only the generated script was seen."""

PLATFORMS = ("Apptainer", "Docker", "Sarus", "Shifter", "Singularity")
"""Those of ReFrame, each in an environment of its name."""

LAUNCHERS = ("srun", "mpirun", "mpiexec")

_EXTRAS = {
    "ucx_net_devices": {"rdma": "mlx5_0:1", "tcp": "ens1", "ipoib": "ib0"},
    "fabric": "roce",
    "gid_index": 3,
    "service_level": 4,
    "pkey": 0x8012,
    "max_message_size": 64,
}
_CONTAINER = {"mounts": ["/run/pmix"], "options": ["--nv"]}
_PMI = {"openmpi": "pmix"}


def write(suite: Path) -> None:
    """Write the site file below the root of a suite."""
    features = {each.feature for each in TRANSPORTS.values()}
    partitions = [
        {
            "name": launcher,
            "scheduler": "squeue",
            "launcher": launcher,
            "environs": list(MPIS),
            "features": sorted(features | {"nodes_1", "nodes_2"}),
            "extras": _EXTRAS,
            "sched_options": {"use_nodes_option": True},
        }
        for launcher in LAUNCHERS
    ]
    partitions += [
        {
            "name": scheduler,
            "scheduler": scheduler,
            "launcher": "mpirun",
            "environs": ["openmpi"],
            "features": ["tcp", "nodes_2"],
            "extras": _EXTRAS,
        }
        for scheduler in UNSEEN
    ]
    environments = [
        {
            "name": family,
            "cc": "mpicc",
            "cxx": "mpicxx",
            "ftn": "",
            "features": ["mpi", "ofi"],
            "extras": {"mpi_family": family, "pmi": _PMI.get(family, "pmi2")},
            "target_systems": ["every"],
        }
        for family in MPIS
    ]
    environments += [
        environments[0]
        | {"name": platform, "extras": environments[0]["extras"] | {"container": container}}
        for platform in PLATFORMS
        for container in [{"platform": platform, "image": "/images/mpi", **_CONTAINER}]
    ]
    partitions[0]["environs"] += PLATFORMS
    system = {"name": "every", "hostnames": [".*"], "partitions": partitions}
    for folder in ("sites", "reports"):
        (suite / folder).mkdir()
    site = {"systems": [system], "environments": environments}
    (suite / "sites" / "every.yaml").write_text(yaml.safe_dump(site))


if "JOB_SUITE" in os.environ:
    site_configuration = _site_configuration(Path(os.environ["JOB_SUITE"]))
