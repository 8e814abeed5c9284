"""The lab's benchmarks: models, readers, facts, growth, and the page's table and distributions."""

import csv
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.programs.results import document, named
from tests.refusals import refused

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.judge.verdict import Subject, Verdict
from fabricheck.launch.cases import Case
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import parse
from fabricheck.programs.allreduce_lab import judge
from fabricheck.programs.allreduce_lab.entries import BENCHMARKS, LEAST_BUCKET, MODELS, SCHEMES
from fabricheck.programs.allreduce_lab.launch import LabRun, iterations, sums
from fabricheck.programs.allreduce_lab.ratio import growth_of, growths
from fabricheck.programs.allreduce_lab.read import time_to
from fabricheck.provenance import SUITE
from fabricheck.sites.extras import AllreduceExtra, PartitionExtras
from fabricheck.sites.files import read
from lab import run_training as training

GUIDE = Path(__file__).parents[1] / "data" / "seeds" / "optireduce-8n.csv"
PARAMETERS = {
    "gpt2": 124_439_808,
    "gpt2_large": 774_030_080,
    "bert_large": 335_141_888,
    "bart_large": 406_291_456,
    "roberta_large": 355_359_744,
    "llama_3_2": 1_235_814_400,
    "vgg19": 39_327_652,
}
"""As published."""

GOOD = dict(zip(SCHEMES, (2.66, 2.99, 2.36, 1.41), strict=True))

LOSSES = {"loss": 0.001, "sums_skipped": 12}
LEARNED = {"accuracies": [0.3, 0.4, 0.6], "learned_seconds": [1.0, 2.0, 4.0], "accuracy": 0.6,
           "drift": 0.004}  # fmt: skip


def run_of(
    seconds: dict[Metric, float] = GOOD,
    tail: float | None = 3.0,
    what: str = "training",
    **options: Any,
) -> dict[str, Any]:
    rows = [
        {
            "scheme": str(scheme), "size": 4000, "iterations": 300, "valid": True, "tail": 1.5,
            "time": {"avg": time, "min": time / 2, "p50": time, "p99": 2 * time, "max": 2 * time},
            "hit": 0.14, "beside": 4e6,
            **(LOSSES if scheme is Metric.OPTIREDUCE else {}),
        }
        for scheme, time in seconds.items()
    ]  # fmt: skip
    found = document("allreduce_lab", what, rows)
    found["options"] = {
        "environment": "long",
        "tail": tail,
        "train": False,
        "buckets": 4,
        "flows": 4,
    }
    found["options"] |= options
    found["environment"]["ranks"] = 8
    return found


def curve_of(found: dict[str, Any], name: str = "gpt2_tail3") -> Curve:
    return parse(json.dumps(found), "result.json", name)


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_buckets_of_a_model_are_its_parameters_to_the_byte(name):
    assert sum(MODELS[name].buckets) == 4 * PARAMETERS[name]
    scaled = MODELS[name].scaled(196_608)
    assert all(bucket % 4 == 0 and bucket >= LEAST_BUCKET for bucket in scaled)
    assert sum(scaled) == pytest.approx(196_608, rel=0.01)
    assert MODELS[name].scaled(10**12) == MODELS[name].buckets
    assert 2 <= len(scaled) <= 6
    assert PARAMETERS.keys() == MODELS.keys()


def test_a_run_is_read_with_every_scheme_and_the_loss():
    curve = curve_of(run_of())
    assert judge.averages(curve) == GOOD
    skipped = 12 / (4 * 300 * int(curve.metadata["ranks"]))
    assert named(curve.variables())["skipped_avg"] == (pytest.approx(skipped), "1")
    assert named(curve.variables())["ring_avg"] == (2.66, "s")
    assert set(named(curve.variables())) == {
        *(f"{scheme}_avg" for scheme in SCHEMES), "error_ratio_avg", "skipped_avg",
    }  # fmt: skip


def damaged(change: Any) -> dict[str, Any]:
    found = deepcopy(run_of())
    change(found)
    return found


@pytest.mark.parametrize(
    ("found", "name", "words"),
    [
        (run_of(), "", "expected the name of the benchmark"),
        (
            run_of(tail=1.5),
            "gpt2_tail3",
            "in long with p99/p50 of 3.0 by ring.* found training in long with p99/p50 of 1.5",
        ),
        (
            run_of({Metric.RING: 1.0}),
            "gpt2_tail3",
            "found training in long with p99/p50 of 3.0 by ring$",
        ),
        (run_of(), "sum_tail3", "expected sum_tail3, which is allreduce"),
        (
            damaged(lambda d: d["results"][1].update(valid=None)),
            "gpt2_tail3",
            "checked sums of bcube",
        ),
        (
            damaged(lambda d: d["results"][3].update(valid=None, sums_unchecked=3)),
            "gpt2_tail3",
            "expected checked sums of optireduce, found 3 of which nothing was comp",
        ),
        (damaged(lambda d: d["results"][3].pop("loss")), "gpt2_tail3", "expected loss in each"),
    ],
)
def test_another_run_or_one_that_nobody_looked_at_is_refused(found, name, words):
    with refused("FC1112", words):
        curve_of(found, name)


def beside(kind: str, change: dict[str, Any] = {}, **options: Any) -> dict[str, Any]:  # noqa: B006
    found = run_of(tail=options.pop("tail", None), what="allreduce", environment=kind, **options)
    found["environment"] |= {"background_alone": 12e6}
    for row in found["results"]:
        row.update({"tail": 2.0, **change})
    return found


def test_sums_are_told_beside_the_ring_of_the_same_run():
    curve = curve_of(beside("elastic"), "sum_elastic4")
    found = named(curve.variables())
    assert {name: found[name][0] for name in ("tail_avg", "hit_avg", "ratio_avg")} == {
        "tail_avg": 2.0, "hit_avg": 0.14, "ratio_avg": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("found", "name", "words"),
    [
        (
            beside("elastic", {"beside": 1e6}),
            "sum_elastic4",
            "flows go on beside the ring, found 1e",
        ),
        (
            beside("elastic", flows=16),
            "sum_elastic4",
            "expected sum_elastic4, which is allreduce in",
        ),
        (beside("long", tail=3.0), "sum_tail3", "the ring's p99 is 3 medians, found 2$"),
        (beside("short", {"tail": 1.2}, tail=3.0), "sum_short", "1.3 medians at least, found 1.2"),
        (beside("short", {"hit": 0.0}, tail=3.0), "sum_short", "found 2 with 0 % of sums hit"),
        (beside("lossy", {"loss": 5e-4}), "sum_lossy", "0.2 % of frames are dropped, found 0.05 %"),
    ],
)
def test_a_run_whose_ring_does_not_show_its_network_is_refused(found, name, words):
    with refused("FC1112", words):
        curve_of(found, name)


def learning(**change: Any) -> dict[str, Any]:
    found = run_of(dict.fromkeys((Metric.RING, Metric.OPTIREDUCE), 0.01), what="allreduce",
                   train=True)  # fmt: skip
    for row in found["results"]:
        row.update({"tail": 2.8, **LEARNED})
    found["results"][0]["learned_seconds"] = [2.0, 4.0, 8.0]
    found["results"][1] |= change
    return found


def test_what_learns_is_told_by_when_it_knows_half_beside_the_ring():
    found = named(curve_of(learning(), "learn_tail3").variables())
    assert {name: found[name][0] for name in ("ratio_avg", "accuracy_avg", "drift_avg")} == {
        "ratio_avg": 2.0, "accuracy_avg": 0.6, "drift_avg": 0.004,
    }  # fmt: skip
    assert [found[f"{each}_to50"][0] for each in ("ring", "optireduce")] == [6.0, 3.0]
    longer, shorter = learning(), learning()
    longer["results"][0]["tail"], shorter["results"][0]["tail"] = 4.5, 2.0
    assert curve_of(longer, "learn_tail3")
    with refused("FC1112", "the ring's p99 is 3 medians, found 2$"):
        curve_of(shorter, "learn_tail3")
    assert time_to([0.3, 0.4, 0.6], [1.0, 2.0, 4.0]) == 3.0
    with refused(
        "FC1112", "expected an accuracy of 35 % in the end with optireduce, found 30 % at most"
    ):
        curve_of(learning(accuracies=[0.1, 0.2, 0.3]), "learn_tail3")


def test_the_facts_hold_in_all_rows_of_the_guide():
    rows = list(csv.DictReader(GUIDE.open()))
    assert len(rows) == 12
    for row in rows:
        times = {scheme: float(row[f"{scheme}_s"]) for scheme in SCHEMES}
        assert judge.missed(times) == ()


@pytest.mark.parametrize(
    ("scheme", "seconds", "pairs"),
    [
        (Metric.OPTIREDUCE, 2.5, [("optireduce", "tar_tcp")]),
        (Metric.RING, 3.1, [("ring", "bcube")]),
        (Metric.TAR_TCP, 2.7, [("tar_tcp", "ring")]),
    ],
)
def test_a_fact_that_does_not_hold_is_critical_unless_it_is_noise(scheme, seconds, pairs):
    curve = curve_of(run_of({**GOOD, scheme: seconds}))
    good = Verdict(Level.GOOD, (), ())
    verdict = judge.refine(good, Subject(curve, None))
    assert verdict.level is Level.CRITICAL
    for (shorter, longer), finding in zip(pairs, verdict.findings, strict=True):
        assert f"no longer with {shorter} than with {longer}" in finding
    noisy = PartitionExtras(allreduce_lab=AllreduceExtra(noise=0.15))
    assert judge.refine(good, Subject(curve, None, noisy)).level is Level.GOOD


def test_bcube_has_few_rounds_where_ranks_are_few():
    found = run_of({**GOOD, Metric.RING: 3.1})
    found["environment"]["ranks"] = 4
    good = Verdict(Level.GOOD, (), ())
    assert judge.refine(good, Subject(curve_of(found), None)).level is Level.GOOD


def test_growth_is_told_of_the_scheme_that_grows_least():
    ratio = growth_of(Case("gpt2_growth", "tcp-8n"))
    sides = (Case("gpt2_tail3", "tcp-8n"), Case("gpt2_tail1_5", "tcp-8n"))
    assert (ratio.upper, ratio.lower) == sides
    low = run_of({scheme: time / 1.2 for scheme, time in GOOD.items()}, tail=1.5)
    low["results"][3]["time"]["avg"] = 1.5
    ratios = ratio.divide(curve_of(run_of()), curve_of(low, "gpt2_tail1_5"))
    assert named(ratio.values(ratios)) == {"ratio_min": pytest.approx(1.41 / 1.5)}
    assert ratio.remark(ratios) == (
        "an iteration with optireduce takes no longer in the longer tail",
    )
    assert {case.shown for case in growths()} >= {"gpt2_growth %transport=tcp %num_nodes=4"}


def test_sites_get_the_cases_of_their_nodes_and_models():
    shown = {case.shown for case in iterations()}
    assert "bert_large_tail3 %transport=tcp %num_nodes=4" in shown
    assert "llama_3_2_tail1_5 %transport=tcp %num_nodes=8" in shown
    assert "llama_3_2_tail1_5 %transport=tcp %num_nodes=4" not in shown
    assert {case.placement.num_nodes for case in sums()} == {4, 8}


def test_a_scaled_training_has_buckets_and_blocks_that_fit_them():
    options = LabRun(Case("bert_large_tail3", "tcp-4n")).options(
        AllreduceExtra(gradients=196_608, compute=10, elements=16384, iterations=50, link_rate=9)
    )
    given = dict(zip(options[:-1:2], options[1::2], strict=False))
    assert len(given["--buckets"].split(",")) == 5
    assert (given["--tail"], given["--compute"], given["--hadamard-block"]) == ("3.0", "10", "256")
    assert given["--halt-loss"] == "100"
    assert given["--environment"] == "long"
    learns = LabRun(Case("learn_elastic4", "tcp-4n")).options(AllreduceExtra(elements=99))
    assert " ".join(learns).endswith(
        "--environment elastic --flows 4 --elements 16384 --train --realtime"
    )
    assert "--buckets" not in LabRun(Case("sum_idle", "tcp-4n")).options(AllreduceExtra())


def test_the_computing_of_an_iteration_is_that_of_its_model():
    """Of the guide's site each model has one, below the least time of its row."""
    (system,) = read(SUITE / "sites" / "optireduce-8n.yaml")["systems"]
    own = PartitionExtras.of(system["partitions"][0]["extras"]).allreduce_lab
    for row in csv.DictReader(GUIDE.open()):
        model = "".join(letter if letter.isalnum() else "_" for letter in row["model"].lower())
        model = model.replace("gpt_2", "gpt2")
        options = LabRun(Case(f"{model}_tail3", "tcp-8n")).options(own)
        compute = int(options[options.index("--compute") + 1])
        least = min(float(value) for name, value in row.items() if name.endswith("_s"))
        assert 0.8 * least < compute / 1000 < least
    assert "--compute" not in LabRun(Case("vgg19_tail3", "tcp-8n")).options(own)


def test_a_training_by_the_guides_words_is_the_programs_command():
    asked = training.read_arguments(["10.0.0.1", "1", "2", "ens17", "vgg19"])
    words = training.command(asked, "optireduce", Path("x.json"), {"ITERATIONS": "7"}, 16)
    assert words[:4] == ["taskset", "-c", "1-8", "allreduce_lab"]
    assert words[-1] == "optireduce"
    given = dict(zip(words[4:-1:2], words[5:-1:2], strict=True))
    assert "--tr-timeout" not in given
    assert given["--calibration"] == "20"
    assert given["--tr-threads-offset"] == "11"
    assert given["--iteration-count"] == "7"
    few = training.command(asked, "transpose", Path("x.json"), {}, 2)
    assert few[0] == "allreduce_lab"
    assert few[-2:] == ["--relaxed", "tar_tcp"]
    assert [each.tr_timeout for each in MODELS.values() if each.script] == [370, 350, 370, 370, 135]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "expected five arguments, found 0"),
        (["h", "2", "2", "eth0", "bert"], "expected a RANK below NODES"),
        (["h", "0", "2", "eth0", "gpt5"], "expected a MODEL of gpt2, bert, bart, roberta, vgg19"),
    ],
)
def test_wrong_arguments_are_told(words, told):
    with pytest.raises(FabricheckError, match=told):
        training.read_arguments(words)


def test_neighbours_are_read_line_by_line(tmp_path):
    path = tmp_path / "dpdk.cfg"
    path.write_text("# nodes\n192.168.1.1=AA:BB:CC:DD:EE:FF\n\n192.168.1.2 = aa:bb:cc:dd:ee:00\n")
    found = training.read_neighbours(path, 2)
    assert found == {"192.168.1.1": "aa:bb:cc:dd:ee:ff", "192.168.1.2": "aa:bb:cc:dd:ee:00"}
    assert " ".join([*training.neighbour_commands(found, "ens17")][1]) == (
        "ip neigh replace 192.168.1.2 lladdr aa:bb:cc:dd:ee:00 dev ens17 nud permanent"
    )
    with pytest.raises(FabricheckError, match="a line for each of 3 nodes, found 2"):
        training.read_neighbours(path, 3)
    for line in ("192.168.1.1", "192.168.1.300=AA:BB:CC:DD:EE:FF", "10.0.0.1=AA:BB:CC",
                 "192.168.1.1=AA:BB:CC:DD:EE:FF\n192.168.1.1=AA:BB:CC:DD:EE:FE"):  # fmt: skip
        path.write_text(line)
        with pytest.raises(FabricheckError, match=r"dpdk.cfg: line \d: expected IP=MAC"):
            training.read_neighbours(path, 1)


def test_the_registry_has_each_environment_and_model():
    assert len(BENCHMARKS) == 2 + 7 + 4 + 2 * 7
