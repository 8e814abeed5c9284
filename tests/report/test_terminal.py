import io
import re

import pytest
from rich.console import Console
from tests.report import layered, sample

from fabricheck.record.resting import FIELDS, NOT_DUE
from fabricheck.report import terminal
from fabricheck.report.load import load
from fabricheck.report.summary import summarise


def shown(run, summary, *, width=100, tty=False, table=True, encoding="utf-8"):
    buffer = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(
        file=buffer, width=width, force_terminal=tty, highlight=False, _environ={"TERM": "xterm"}
    )
    terminal.show(run, summary, console, table=table)
    buffer.flush()
    return buffer.buffer.getvalue().decode(encoding)


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    run = load(sample.write(sample.with_everything(), tmp_path_factory.mktemp("run")))
    return shown(run, summarise(run))


def test_the_verdict_comes_first(everything):
    lines = everything.splitlines()
    assert lines[0].startswith(" † FAILED   testbed, 2026-11-21 05:41 UTC")
    assert lines[0].endswith(", commit 0b0ad8f1")
    assert [line.partition(":")[0] for line in lines[3:6]] == ["The fabric", "The run", "Next"]
    assert lines[1].startswith("74 cases: 67 good, 1 warning, 1 critical, 1 no-reference, 1 untru")


@pytest.mark.parametrize(
    "told",
    [
        "⊘ untrusted bw mpich tcp-2n on n[1-2]: expected transport tcp, found shm: "
        "UCX reports lane sysv/memory on n1, n2\n",
        "† failed alltoall openmpi tcp-4n on n[1-4]: node failure: Slurm ended job 1042",
        "node n3 does not answer\n",
        "‡ aborted barrier mpich tcp-4n",
        *("✓ good", "▲ warning", "✖ critical", "⊘ untrusted", "? no-reference", "· no such"),
        "absurdity bound, not a performance reference",
    ],
)
def test_each_problem_names_case_nodes_and_cause_and_the_legend_each_status(everything, told):
    assert told in everything
    assert "\x1b" not in everything, "a pipe gets no colour"


def test_the_matrix_has_figures_levels_and_gaps(everything):
    lines = everything.splitlines()
    latency = next(line for line in lines if line.startswith("latency "))
    assert "✓ 6.66   549 ·            ✓ 0.21   122 ✖ 7.40   610 ·" in latency
    bandwidth = next(line for line in lines if line.startswith("bw "))
    assert "⊘ untrusted" in bandwidth
    assert max(len(line) for line in lines if line[:8] in ("latency ", "reduce_s")) <= 100


def test_what_the_run_could_not_have_stands_below_the_verdict(judged):
    document = sample.report()
    document["end"]["lacking"] = "nothing on RDMA: no QEMU, no kernel"
    text = shown(*judged(document), table=False)
    assert text.splitlines()[1] == "NOT MEASURED: nothing on RDMA: no QEMU, no kernel"
    document["end"]["lacking"] = "nothing on RDMA devices: " + "no QEMU, " * 40
    lines = shown(*judged(document), table=False).splitlines()
    assert sum(line.count("QEMU,") for line in lines) == 40
    assert max(len(line) for line in lines if "QEMU," in line) <= 100
    assert len(lines) <= terminal.TEXT_LINES


@pytest.mark.parametrize("tty", [True, False])
@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_at_most_twenty_lines_come_before_the_matrix(judged, width, tty):
    document = sample.report()
    for number, entry in enumerate(document["cases"]):
        if not entry.get("fixture"):
            name = f"{chr(97 + number // 26)}{chr(97 + number % 26)}"
            entry.update(level="warning", findings=(f"finding {name} " + "of many words " * 12,))
    run, summary = judged(document)
    text = re.sub(r"\x1b\[[\d;]*m", "", shown(run, summary, width=width, tty=tty, table=False))
    assert len(text.splitlines()) <= terminal.TEXT_LINES
    told = text.count("▲ warning ")
    left = int(text.split("... and ")[1].split()[0])
    assert told + left == 74


def test_all_problems_are_told_where_they_fit(judged):
    assert "more" not in shown(*judged(sample.with_warning()), table=False)


def test_a_terminal_gets_colour(judged):
    assert "\x1b[" in shown(*judged(sample.with_everything()), tty=True)


def test_without_unicode_the_symbols_are_ascii(judged):
    text = shown(*judged(sample.with_everything()), encoding="ascii")
    assert "U untrusted bw" in text
    assert "X critical latency" in text


def test_columns_that_do_not_fit_go_to_a_table_of_their_own(judged):
    run, summary = judged(sample.report())
    lines = shown(run, summary, width=62).splitlines()
    assert sum(line.startswith("benchmark") for line in lines) == 2
    assert max(len(line) for line in lines if line.startswith("allreduce")) <= 62


def test_a_table_has_no_row_without_a_case(judged):
    document = sample.report()
    for entry in document["cases"]:
        if (entry["environ"], entry.get("benchmark")) == ("mpich", "latency"):
            entry["environ"] = "mpich2"
    tables = shown(*judged(document), width=62).split("benchmark ")
    assert len(tables) > 3
    lines = [line for table in tables for line in table.splitlines()]
    assert not [line for line in lines if set("".join(line.split()[2:])) == {"·"}]


def test_columns_name_their_partition_where_there_are_several(judged):
    document = sample.report()
    for entry in document["cases"]:
        if entry["environ"] == "mpich":
            entry["partition"] = "other"
    assert "testbed:other mpich" in shown(*judged(document))


def test_long_names_of_environments_stay_whole(judged):
    document = sample.report("latency")
    for entry in document["cases"]:
        entry["environ"] = f"gcc-13-with-all-that-a-site-loads-{entry['environ']}"
    text = shown(*judged(document))
    heads = re.search(r"\n((?: +gcc.*\n)(?: .*\n)+)benchmark", text)[1].splitlines()
    start, second = (found.start() for found in re.finditer("gcc", heads[0]))
    for part, name in ((slice(start, second), "mpich"), (slice(second, None), "openmpi")):
        words = "".join(line[part].strip() for line in heads)
        assert words == f"gcc-13-with-all-that-a-site-loads-{name}"


def test_a_cell_of_several_cases_shows_the_worst_and_their_number(judged):
    document = sample.with_critical()
    again = dict(sample.find(sample.report(), "latency", "openmpi", "tcp-2n"), id="again")
    document["cases"].append(again)
    assert "✖ 7.40   610 x2" in shown(*judged(sample.announced(document)))


def test_a_red_case_of_mpi_names_the_layer(judged):
    document = layered.layered()
    layered.redden(document, "latency", "openmpi")
    assert (
        "✖ critical latency openmpi rc-2n on n[1-2] (fault in the MPI): latency_p50_64KiB is"
        in (shown(*judged(document), table=False))
    )
    layered.redden(document, "ib_send_lat")
    text = shown(*judged(document), table=False)
    command = f'fabricheck explain "latency openmpi rc-2n" --session {sample.SESSION}'
    assert f"(see {command}): latency_p50_64KiB is beyond" in text
    assert "ib_send_lat builtin rc-2n on n[1-2]: latency" in text


def test_how_many_cases_are_not_due_stands_beside_those_that_ran(judged):
    document = sample.report("latency")
    rests = dict.fromkeys(FIELDS, "x")
    states = (NOT_DUE, NOT_DUE, "overdue")
    document["end"]["resting"] = [{**rests, "state": state} for state in states]
    line = shown(*judged(document), table=False).splitlines()[1]
    assert re.match(r"\d+ cases, 2 more not due tonight: \d+ good", line)
