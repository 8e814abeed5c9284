"""The features that a site file can offer, with what each says."""

import re
from collections.abc import Mapping

from fabricheck.transports.table import TRANSPORTS

_TRANSPORTS = {
    feature: " or ".join(each.name for each in TRANSPORTS.values() if each.feature == feature)
    for feature in dict.fromkeys(each.feature for each in TRANSPORTS.values())
}

OF_PARTITION: Mapping[str, str] = {
    **{feature: f"transport {names}" for feature, names in _TRANSPORTS.items()},
    "bound_ranks": "each rank has its own CPUs",
    "full_nodes": "cases with a rank on every core",
    "gpu": "the nodes have GPUs",
    "gpu_verbs": "perftest there was built for these GPUs (--use_cuda, --use_rocm)",
    "inline": "cards take data inside a request",
    "quiet_interfaces": "nothing but the job uses the nodes' interfaces",
    "lossy_links": "the links that allreduce_lab.link_rate makes are there, and can drop frames",
    "tail1_5": "other traffic makes a p99 of 1.5 medians there, as lab/run_background.sh does",
    "tail3": "the same, of 3 medians",
    "shared_cores": "the nodes are namespaces of one machine",
}
"""Features of a partition, beside ``nodes_N``, ``node_ranks_N`` (N ranks on each node),
``allreduce_nodes_N`` (N nodes for the schemes of allreduce_lab) and ``training_MODEL``."""

OF_ENVIRONMENT: Mapping[str, str] = {
    "cuda": "the UCX of its MPI has CUDA",
    "cuda_collectives": "that MPI was built with CUDA, so that it reduces memory of GPUs",
    "gloo": "gloo with Redis, and redis-server, are installed",
    "imb": "IMB-MPI1, IMB-P2P, IMB-NBC and IMB-RMA, built with its MPI, are on PATH",
    "mpi": "an MPI, named by extras.mpi_family",
    "mpi4": "that MPI has what MPI 4.0 added",
    "ofi": "that MPI was built with libfabric",
    "nccl": "the ranks find libnccl.so.2",
    "spack": "Spack builds the programs, for extras.mpi_spec",
    "ucx": "ucx_perftest is on PATH",
    "verbs": "perftest is on PATH",
}
"""Features of an environment."""

_COUNTS = re.compile(r"(?:nodes|node_ranks|allreduce_nodes)_[1-9]\d*|training_\w+", re.ASCII)


def unknown(features: list[str], known: Mapping[str, str]) -> list[str]:
    """The features that no check asks for."""
    return [each for each in features if each not in known and not _COUNTS.fullmatch(each)]
