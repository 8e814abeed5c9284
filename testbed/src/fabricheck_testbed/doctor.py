"""``testbed doctor``: is everything there, and is the running testbed well."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from fabricheck_testbed import layout, lock, programs, rights
from fabricheck_testbed import status as status_module
from fabricheck_testbed.commands import run_captured
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest import kernel, machine
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.state_files import check_root

OK: Final = "ok"
WARNING: Final = "warning"
PROBLEM: Final = "problem"

# Idle, four nodes write 160 kB; the rest is room for Slurm's logs and job scripts.
_DISK_MB: Final = 200
# Idle, four nodes use 34 MB (PSS); the rest is room for the programs in them.
_MEMORY_MB: Final = 256
_PIDS_WANTED: Final = 1000
_QUERY_SECONDS: Final = 10.0
_NO_GUEST: Final = "not found: the testbed starts, but --rdma or its checks cannot"
# What the checks run on RDMA devices.
_VERBS_PROGRAMS: Final = {
    "ib_write_bw": "perftest",
    "ucx_perftest": "ucx-utils",
    "ibv_devinfo": "ibverbs-utils",
}
_FOR_CASES: Final = {
    "mpicc.openmpi": "openmpi-bin libopenmpi-dev",
    "mpicc.mpich": "mpich libmpich-dev",
    "redis-server": "redis-server",
}


class Check(NamedTuple):
    """One line of the doctor; ``fix`` is empty where nothing is to be done."""

    name: str
    level: str
    found: str
    fix: str = ""


def examine(files: Layout) -> list[Check]:
    """All checks, in the order in which ``up`` would stumble over them."""
    return [
        *_rights(),
        *_programs(),
        *_libraries(),
        *_for_cases(),
        _network(),
        _cgroups(),
        _memory(),
        *_guest(),
        *_state_directory(files),
        *_running(files),
    ]


def _rights() -> Iterator[Check]:
    try:
        user_namespace = rights.choose_mode()
    except TestbedError as error:
        yield Check("rights", PROBLEM, str(error), "run as root, or allow user namespaces")
        return
    found = "user namespace (no root)" if user_namespace else "root"
    yield Check("rights", OK, f"{found}: net, uts, ipc, mount and pid namespaces can be made")
    if user_namespace:
        yield _program(programs.COMPILER, programs.COMPILER_PACKAGE)


def _programs() -> Iterator[Check]:
    for name, package in programs.PACKAGE_OF.items():
        yield _program(name, package)


def _program(name: str, package: str) -> Check:
    return _there(name, package, programs.find_program(name))


def _there(name: str, package: str, path: str | Path | None) -> Check:
    if path is None:
        return Check(name, PROBLEM, "not found", f"apt-get install {package}")
    return Check(name, OK, f"{path} ({package} {_package_version(package)})")


def _libraries() -> Iterator[Check]:
    for name, package in programs.LIBRARY_PACKAGES.items():
        yield _library(name, package)


def _library(name: str, package: str) -> Check:
    return _there(name, package, programs.find_library(name))


def _package_version(package: str) -> str:
    query = ["dpkg-query", "--show", "--showformat=${Version}", package]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "of unknown version: no dpkg here"
    return done.stdout.strip() if done.returncode == 0 else "not from a package"


def _for_cases() -> Iterator[Check]:
    for name, package in _FOR_CASES.items():
        path = programs.find_program(name)
        if path is None:
            found = "not found: the testbed starts, but no case that needs it can run"
            yield Check(name, WARNING, found, f"apt-get install {package}")
        else:
            yield Check(name, OK, f"{path} ({_package_version(package.split()[0])})")


def _network() -> Check:
    ip = programs.find_program("ip")
    if ip is None:
        return Check("network", PROBLEM, "cannot be tried without ip", "apt-get install iproute2")
    problem = rights.probe_network(ip)
    if problem is None:
        return Check("network", OK, "bridge and veth can be made, in namespaces of their own")
    return Check(
        "network", PROBLEM, problem, "load the kernel modules: modprobe -a bridge veth, as root"
    )


def _cgroups() -> Check:
    version = "v2" if Path("/sys/fs/cgroup/cgroup.controllers").exists() else "v1 or none"
    limit = _pids_limit()
    found = f"{version}; nodes share the cgroup of whoever runs up, and nothing depends on it"
    if limit is not None and limit < _PIDS_WANTED:
        return Check(
            "cgroups",
            WARNING,
            f"{found}; it allows only {limit} processes",
            f"raise pids.max to {_PIDS_WANTED} or more",
        )
    return Check("cgroups", OK, found)


def _pids_limit() -> int | None:
    """pids.max of this process's cgroup; None if there is no limit or no such controller."""
    for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "pids"):
            file = Path("/sys/fs/cgroup", controllers, path.lstrip("/"), "pids.max")
            if file.exists() and (text := file.read_text("ascii").strip()) != "max":
                return int(text)
    return None


def _memory() -> Check:
    available_mb = machine.available_mb()
    found = f"{available_mb} MB available, {_MEMORY_MB} MB wanted for four nodes"
    if available_mb < _MEMORY_MB:
        return Check("memory", WARNING, found, "end other programs, or use fewer nodes")
    return Check("memory", OK, found)


def _guest() -> Iterator[Check]:
    """What ``up --rdma`` needs besides: the testbed works without it, so nothing is a problem."""
    for name, package in programs.GUEST_PACKAGE_OF.items():
        yield _for_guest(_program(name, package))
    for name, package in programs.GUEST_LIBRARY_PACKAGES.items():
        yield _for_guest(_library(name, package))
    for name, package in _VERBS_PROGRAMS.items():
        yield _for_guest(_program(name, package))
    yield _guest_kernel()
    for name, demand in (("guest memory", machine.require_memory), ("tap", machine.require_tap)):
        try:
            demand()
        except TestbedError as error:
            yield Check(name, WARNING, str(error), "do without --rdma")
        else:
            yield Check(name, OK, "enough for --rdma" if name != "tap" else "/dev/net/tun is there")


def _for_guest(check: Check) -> Check:
    return check if check.level == OK else check._replace(level=WARNING, found=_NO_GUEST)


def _guest_kernel() -> Check:
    cache = kernel.cache_dir()
    if (found := kernel.cached(cache)) is not None:
        return Check("guest kernel", OK, f"{found.image}")
    try:
        package = kernel.package_name()
    except TestbedError as error:
        return Check("guest kernel", WARNING, str(error), "apt-get update")
    return Check("guest kernel", OK, f"the first up --rdma fetches {package} into {cache}")


def _state_directory(files: Layout) -> Iterator[Check]:
    elsewhere = "choose another with --state-dir"
    existing = next(path for path in (files.root, *files.root.parents) if path.exists())
    try:
        check_root(files)
    except (TestbedError, OSError) as error:
        yield Check("state directory", PROBLEM, str(error), elsewhere)
    else:
        if not os.access(existing, os.W_OK | os.X_OK):
            yield Check("state directory", PROBLEM, f"{existing} is not writable", elsewhere)
        elif (holder := lock.holder(files.lock)) is not None:
            found = f"{files.root} is in use by {holder}"
            yield Check("state directory", WARNING, found, "wait for it to end")
        else:
            yield Check("state directory", OK, f"{files.root} can be used")
    free_mb = shutil.disk_usage(existing).free // 2**20
    found = f"{free_mb} MB free at {existing}, {_DISK_MB} MB wanted"
    if free_mb < _DISK_MB:
        yield Check("disk", PROBLEM, found, f"make room there, or {elsewhere}")
    else:
        yield Check("disk", OK, found)
    yield Check("ports", OK, "the testbed has a network of its own: no port can be in use")


def _running(files: Layout) -> Iterator[Check]:
    try:
        found = status_module.status(files)
    except TestbedError as error:
        yield Check("testbed", PROBLEM, str(error), "choose another with --state-dir")
        return
    if not found.running:
        if files.records.exists() and lock.holder(files.lock) is None:
            text = f"the one in {files.root} ended without down"
            yield Check("testbed", WARNING, text, "up starts afresh, down removes it")
        else:
            yield Check("testbed", OK, f"none runs in {files.root}")
        return
    restart = "up (it replaces what is broken)"
    if found.problems:
        yield Check("testbed", PROBLEM, "; ".join(found.problems), restart)
    else:
        states = ", ".join(f"{node.name} {node.slurm_state}" for node in found.nodes[1:])
        yield Check("testbed", OK, states)
    socket = str(files.munge_socket)
    munge = f"munge --no-input --socket={socket} | unmunge --socket={socket}"
    answer = _answer(files, "munge", ["sh", "-c", munge], "Success", restart)
    yield answer
    if answer.level == OK:
        yield _answer(files, "slurmctld", ["scontrol", "ping"], "is UP", restart)
    else:
        # Without munge it would only wait for a timeout.
        yield Check("slurmctld", PROBLEM, "cannot be asked without munge", restart)


def _answer(files: Layout, name: str, command: list[str], expected: str, fix: str) -> Check:
    """A daemon's own answer, asked for from the login node."""
    try:
        done = run_captured(files, layout.LOGIN, command, _QUERY_SECONDS)
    except subprocess.TimeoutExpired:
        return Check(name, PROBLEM, f"no answer in {_QUERY_SECONDS:g} s", fix)
    if done.returncode == 0 and expected in done.stdout:
        return Check(name, OK, "answers")
    complaint = (done.stderr or done.stdout).strip().splitlines()
    return Check(name, PROBLEM, complaint[0] if complaint else "no answer", fix)
