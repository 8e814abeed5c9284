"""``lab/run_training.sh``: the trainings of the OptiReduce benchmarking guide, emulated."""

import ipaddress
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricheck.errors import EXIT_BAD_INPUT, FabricheckError
from fabricheck.programs.allreduce_lab.entries import MODELS, PROGRAM, Model

_GUIDE = ", ".join(
    f"{each.tr_timeout} for {each.script}" for each in MODELS.values() if each.script
)
USAGE = "usage: run_training.sh MASTER_ADDR RANK NODES DEV MODEL"
HELP = f"""{USAGE}

The iterations of a training: the buckets of a model's gradients are summed over all nodes, while
a computing phase goes on. Start it on each node, with its rank. A Redis server must answer on
MASTER_ADDR.

  MODEL  {", ".join(each.script for each in MODELS.values() if each.script)}

Environment
  RUN_ALL=1      all schemes one after the other, not OptiReduce alone
  PREFIX         a word of the run, the same on all nodes and another one for each run (training)
  ITERATIONS     of each scheme (100)
  COMPUTE        milliseconds of an iteration's computing phase (0)
  TR_TIMEOUT     milliseconds after which a stage of all gradients in one bucket ends, with
                 OptiReduce; one of a smaller bucket has as much less (calibrated). The guide has
                 {_GUIDE}
  CORES          of the training, as taskset takes them (1-8 where there are 12; else any)
  TR_THREADS_OFFSET  core of the thread that communicates (11)
  REDIS_PORT     (6199)
  DPDK_CFG       file of lines IP=MAC, one for each node, that the nodes are reached by (dpdk.cfg,
                 if it is there)
  ALLREDUCE_LAB  the program (allreduce_lab on PATH)

Rank 0 writes COMM_ALGO_MODEL_EPOCHS_BATCH.log for each scheme: seconds for each iteration, what of
them is communication that nothing hides, p50 and p99, and the loss.
Example: RUN_ALL=1 PREFIX=night7 run_training.sh 192.168.1.100 0 2 ens17 bert
"""

SCHEMES = {"ring": "ring", "bcube": "bcube", "transpose": "tar_tcp", "optireduce": "optireduce"}
"""The guide's words for the algorithms of gloo, in its order, with those of the program."""

LEFT_OUT = "left out: NCCL with Ring and with Tree, which need GPUs: the check NcclIteration"
PAUSE = 5.0
_FEWEST_CORES = 12
_MAC = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}")


@dataclass(frozen=True, slots=True)
class Training:
    """What was asked for.

    Attributes:
        master: address of the node with Redis.
        rank: of this node.
        nodes: in all.
        device: network interface.
        model: what is trained.
    """

    master: str
    rank: int
    nodes: int
    device: str
    model: Model


def read_arguments(words: Sequence[str]) -> Training:
    """The arguments of the script.

    Raises:
        FabricheckError: for what is missing, unknown or out of range.
    """
    scripts = {each.script: each for each in MODELS.values() if each.script}
    if len(words) != 5:
        raise FabricheckError(f"expected five arguments, found {len(words)}: {USAGE}")
    master, rank, nodes, device, model = words
    if not (nodes.isdecimal() and rank.isdecimal() and int(rank) < int(nodes) <= 255):
        raise FabricheckError(
            f"expected a RANK below NODES, which are at most 255, found {rank} of {nodes}: {USAGE}"
        )
    if model not in scripts:
        raise FabricheckError(f"expected a MODEL of {', '.join(scripts)}, found {model!r}")
    return Training(master, int(rank), int(nodes), device, scripts[model])


def read_neighbours(path: Path, nodes: int) -> Mapping[str, str]:
    """The MAC address of each node's IP address.

    Args:
        path: file of lines ``IP=MAC``.
        nodes: how many there must be at least.

    Raises:
        FabricheckError: for the first line that is none, or if nodes are missing.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        address, _, mac = map(str.strip, line.partition("="))
        try:
            ipaddress.IPv4Address(address)
        except ValueError:
            address = ""
        if not address or not _MAC.fullmatch(mac) or address in found:
            raise FabricheckError(
                f"{path}: line {number}: expected IP=MAC, each address once, such as "
                f"192.168.100.10=AA:BB:CC:DD:EE:FF, found {line.strip()[:80]!r}"
            )
        found[address] = mac.lower()
    if len(found) < nodes:
        raise FabricheckError(
            f"{path}: expected a line for each of {nodes} nodes, found {len(found)}: add the others"
        )
    return found


def neighbour_commands(neighbours: Mapping[str, str], device: str) -> Iterator[list[str]]:
    """What makes them known to the kernel, so that nothing waits for ARP."""
    for address, mac in neighbours.items():
        words = f"ip neigh replace {address} lladdr {mac} dev {device} nud permanent"
        yield words.split()


def command(
    training: Training, algorithm: str, output: Path, environment: Mapping[str, str], cores: int
) -> list[str]:
    """The program and its options for one scheme."""
    model, scheme = training.model, SCHEMES[algorithm]
    options: dict[str, Any] = {
        "--size": training.nodes,
        "--rank": training.rank,
        "--redis-host": training.master,
        "--redis-port": environment.get("REDIS_PORT", "6199"),
        "--prefix": f"{environment.get('PREFIX', 'training')}.{model.script}.{algorithm}",
        "--tcp-device": training.device,
        "--buckets": ",".join(map(str, model.buckets)),
        "--compute": environment.get("COMPUTE", "0"),
        "--iteration-count": environment.get("ITERATIONS", "100"),
        "--json": output,
        "--tr-threads-offset": environment.get("TR_THREADS_OFFSET", "11"),
    }
    if scheme == "optireduce":
        limit = environment.get("TR_TIMEOUT")
        # As many as the paper has: buckets are large.
        options |= {"--tr-timeout": stage_limit(limit, model)} if limit else {"--calibration": 20}
        options["--halt-loss"] = 100  # nothing is trained that it could harm: the log has the loss
    words = [str(word) for pair in options.items() for word in pair]
    has_cores = "CORES" in environment or cores >= _FEWEST_CORES
    return [
        *(["taskset", "-c", environment.get("CORES", "1-8")] if has_cores else []),
        environment.get("ALLREDUCE_LAB", PROGRAM),
        *words,
        *([] if has_cores else ["--relaxed"]),
        scheme,
    ]


def stage_limit(given: str, model: Model) -> int:
    """Milliseconds for a stage of the largest bucket.

    Args:
        given: for one of all gradients.
        model: what is trained.

    Raises:
        FabricheckError: if it is no whole number above 0.
    """
    if not given.isdecimal() or not int(given):
        raise FabricheckError(f"expected TR_TIMEOUT in whole milliseconds, found {given[:80]!r}")
    return max(1, round(int(given) * max(model.buckets) / sum(model.buckets)))


def result_line(document: Mapping[str, Any]) -> str:
    """The figures of a scheme, as CSV."""
    (row,) = document["results"]
    times = row["time"]
    figures = (times["avg"], row["exposed"]["avg"], times["p50"], times["p99"], row.get("loss", 0))
    return "Time,Exposed,P50,P99,Loss\n" + ",".join(f"{each:.6g}" for each in figures) + "\n"


def run(training: Training, environment: Mapping[str, str]) -> int:
    """All schemes that were asked for; the exit code of the first that failed, or 0."""
    neighbours = Path(environment.get("DPDK_CFG", "dpdk.cfg"))
    if "DPDK_CFG" in environment or neighbours.exists():
        for words in neighbour_commands(
            read_neighbours(neighbours, training.nodes), training.device
        ):
            subprocess.run(words, check=True)
    algorithms = list(SCHEMES)
    if environment.get("RUN_ALL") == "1":
        sys.stdout.write(f"{LEFT_OUT}\n")
    else:
        algorithms = algorithms[-1:]
    model = training.model
    for number, algorithm in enumerate(algorithms):
        if number:
            time.sleep(PAUSE)
        log = Path(f"gloo_{algorithm}_{model.script}_{model.epochs}_{model.batch}.log")
        output = log.with_suffix(f".{training.rank}.json")
        words = command(training, algorithm, output, environment, os.cpu_count() or 1)
        if code := subprocess.run(words, check=False).returncode:
            return code
        if training.rank == 0:
            part = log.with_suffix(".part")
            part.write_text(result_line(json.loads(output.read_text(encoding="utf-8"))))
            part.replace(log)
            output.unlink()
    return 0


def main(words: Sequence[str]) -> int:
    """The script; its exit code."""
    if "-h" in words or "--help" in words:
        sys.stdout.write(HELP)
        return 0
    try:
        return run(read_arguments(words), os.environ)
    except (FabricheckError, OSError, UnicodeDecodeError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"run_training.sh: {error}\n")
    return EXIT_BAD_INPUT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
