"""Odd command lines, nights and state directories."""

import functools
import json
from random import Random
from typing import Any

import typer.main
from tests.fuzz import damage
from tests.fuzz.place import Place, expect

from fabricheck import provenance
from fabricheck.cli.application import build

_LEFT_OUT = {
    "run", "nightly", "testbed up", "testbed exec", "testbed fault", "testbed doctor",
    "site init", "stress start", "stress once", "stress stop",
}  # fmt: skip
"""What starts programs or computes for minutes; nights have a generator of their own."""

_WORDS = (
    "there.json", "empty", "missing", "nothing/at/all", "loop", "binary", "/dev/null", "/dev/full",
    ".", "/", "'", "20200101:20200109", "now-1d:now", "2020-01-01", "0001-01-01T00:00:00+14:00",
    "9999-12-31", "size=²", "nodes=²", "size=8", "transport=tcp", "=", "latency", "openmpi",
    "tcp-2n",
    "local", "testbed", "hpc:cpu", "1MiB", "1:4MiB", "0.05", "-1", "12", "nan", "inf", "1e400",
    "'; ls", "$(ls)", "?1", "a" * 300, "--", "-h", "csv", "parquet", "json", "[/red]",
)  # fmt: skip


def command_lines(chance: Random, place: Place) -> None:
    """A command with a few of its options, or of another's."""
    place.write("there.json", "{}")
    place.write("binary", bytes(range(256)))
    (place.inside / "empty").mkdir()
    (place.inside / "loop").symlink_to("loop")
    name, command = chance.choice(_commands())
    words = name.split()
    parameters = [each for each in command.params if each.param_type_name == "option"]
    for _ in range(chance.randrange(4) if parameters else 0):
        option = chance.choice(parameters)
        if "store" not in option.name and chance.random() < 0.5 and not option.is_flag:
            continue
        words.append(chance.choice(option.opts))
        if not option.is_flag or chance.random() < 0.02:
            words.append(_word(chance))
    words += [_word(chance) for _ in range(chance.randrange(3))]
    if name in ("testbed down", "testbed status"):
        words += ["--state-dir", chance.choice(("empty", "missing", "there.json", "loop"))]
    place.run(*(word.replace("\x00", "") for word in words))


def _word(chance: Random) -> str:
    which = chance.random()
    if which < 0.7:
        return chance.choice(_WORDS)
    return chance.choice(damage.TEXTS if which < 0.9 else damage.NUMBERS)


@functools.cache
def _commands() -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []

    def collect(prefix: str, group: Any) -> None:
        for name, command in group.commands.items():
            path = f"{prefix} {name}".strip()
            if hasattr(command, "commands"):
                collect(path, command)
            elif path not in _LEFT_OUT:
                found.append((path, command))

    collect("", typer.main.get_command(build([])))
    return found


def nights(chance: Random, place: Place) -> None:
    """Is a night missing? Only a whole one of the last two days says that none is."""
    root = provenance.SUITE / "reports" / "nights"
    root.mkdir(parents=True, exist_ok=True)
    for path in root.iterdir():
        path.rename(place.inside / path.name)
    names = ("20200101T020000Z", "20360101T020000Z", "99991231T235959Z", "x", "20261340T000000Z",
             "20200101T020000Z.old", "²0200101T020000Z")  # fmt: skip
    for name in chance.sample(names, chance.randint(0, 3)):
        night = root / name
        how = chance.randrange(4)
        if how == 0:
            night.write_text("a file")
        elif how == 1:
            night.symlink_to("nowhere")
        else:
            night.mkdir()
            told = {"started": name, "code": 0, "codes": {"history": 0}, "summary": [], "format": 1}
            content = json.dumps(damage.tree(told, chance)).encode("utf-8", "replace")
            (night / "night.json").write_bytes(
                damage.octets(content, chance) if how == 2 else content
            )
    hours = ["--every-hours", chance.choice(damage.NUMBERS)] if chance.random() < 0.3 else []
    machine = ["--json"] if chance.random() < 0.3 else []
    ended = place.run("nightly", "--check", *hours, *machine)
    far = hours and ended.code == 0
    expect(ended.code != 0 or far, f"no night is missing, it says: {ended.stdout}")


def state_directories(chance: Random, place: Place) -> None:
    """A directory that may be no testbed: what is not provably one stays as it is."""
    state = place.inside / "state"
    for name in chance.sample(("etc/conf", "lib/x", "run/y", "log/z", "slurmctld/a"), 3):
        place.write(f"state/{name}", "precious")
    for name in chance.sample(("lock", "testbed.json", "pids/n1.json"), chance.randint(0, 3)):
        if chance.random() < 0.3:
            path = state / name
            path.parent.mkdir(exist_ok=True)
            path.symlink_to(place.outside / "precious.json")
        else:
            place.write(f"state/{name}", chance.choice(("x", "{}", "[]", "", "\x00", "null")))
    before = {path: path.read_bytes() for path in state.rglob("*") if path.is_file()}
    for command in ("status", "down"):
        place.run("testbed", command, "--state-dir", state)
    gone = [
        path for path in before if not path.is_file() and path.parent.name not in ("pids", "state")
    ]
    expect(not gone, f"gone, though nothing said that it was a testbed's: {gone}")
