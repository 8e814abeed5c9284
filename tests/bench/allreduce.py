"""Ranks of allreduce_lab as processes, for its tests."""

import subprocess
from collections.abc import Callable

TIMEOUT = 60
# A bound that no busy machine reaches.
LOSSLESS = ("--tr-timeout", "5000")
SMALL = ("--elements", "10007", "--iteration-count", "20", "--warmup-iters", "1")
COMMON = ("--tcp-device", "lo", "--timeout", "3")
Ended = list[subprocess.CompletedProcess[str]]
Start = Callable[..., list[subprocess.Popen[str]]]


def ended(job: list[subprocess.Popen[str]]) -> Ended:
    return [
        subprocess.CompletedProcess(process.args, process.returncode, out, err)
        for process in job
        for out, err in [process.communicate(timeout=TIMEOUT)]
    ]


def codes(done: Ended) -> list[int]:
    return [each.returncode for each in done]
