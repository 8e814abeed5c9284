import gzip
import json
import re
from base64 import b85decode

import pytest
from tests.report import layered, sample

from fabricheck.errors import FabricheckError
from fabricheck.report import page as page_module
from fabricheck.report.load import load
from fabricheck.report.offline import outside_resources
from fabricheck.report.page import render
from fabricheck.report.summary import summarise

pytestmark = pytest.mark.integration

LIMIT = 1_000_000


@pytest.fixture
def page(judged):
    def rendered(document):
        return render(*judged(document))

    return rendered


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    run = load(sample.write(sample.with_everything(), tmp_path_factory.mktemp("page")))
    return render(run, summarise(run))


def words(html):
    """What is read on the page: its text without scripts, styles and tags."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", bare).split())


def unpacked(html, name):
    """What a script of the page unpacks."""
    (text,) = re.findall(rf'data-pack="{name}">(.*?)</script>', html)
    return unpack(text)


def unpack(text):
    """What ``packed`` packed."""
    return gzip.decompress(b85decode(text.translate(str.maketrans(",./", "<>&"))))


def section(html, anchor):
    """The text of one part of the page."""
    parts = re.split(r'<h2 id="([\w-]+)"', html)
    return words("<" + parts[parts.index(anchor) + 1])


def test_the_page_is_one_file_below_the_limit(everything):
    assert len(everything.encode()) < LIMIT
    assert outside_resources(everything) == []


def test_the_verdict_comes_first(everything):
    text = words(everything.split("<body>")[1])
    assert text.startswith("Skip to what is wrong fabricheck, testbed, 2026-11-21 05:41 UTC")
    told = (
        "† Failed 74 cases ✓ 67 good",
        "The fabric:",
        "The run:",
        "Next: ",
        "Node by node Nodes",
    )
    assert sorted(told, key=text.index) == list(told)
    assert "absurdity bound, not a performance reference" in text


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("wrong", "⊘ untrusted bw mpich tcp-2n expected transport tcp, found shm"),
        ("wrong", "Nodes n[1-2] Job 1007 Proof of transport none"),
        ("wrong", "latency falls from 152000 us at 2KiB"),
        ("wrong", "Proof of transport UCX reports lanes over tcp"),
        ("matrix", "7.40 µs · 610 µs ✖ critical"),
        ("matrix", "19.1 GB/s ✓ good"),
        ("matrix", "⊘ untrusted"),
        ("matrix", "no such case"),
        ("matrix", "TransportOrder openmpi ✓ good ratio_p50_8B 35.7"),
        ("curves", "131072 (critical)"),
        ("curves", "23117 (warning)"),
        ("not-measured", "barrier mpich tcp-4n ‡ aborted in phase run: aborted due to AbortTask"),
        (
            "not-measured",
            "scatter openmpi shm-1n \N{EN DASH} skipped the partition offers one core",
        ),
        ("not-measured", "alltoall openmpi tcp-4n † failed node failure"),
        ("provenance", "mpich: MPICH, 4.0.2"),
        ("provenance", "openmpi: Open MPI, 4.1.4"),
        ("provenance", "UCX not recorded"),
        ("provenance", "mpi_probe 0.1.0"),
        ("provenance", "0b0ad8f1"),
        ("provenance", "Nodes n[1-4]"),
        ("provenance", "4.10.4"),
        ("provenance", "reframe -c checks/ -r --report-file=reports/run-0.json"),
    ],
)
def test_each_part_has_sentences_figures_and_levels_in_words(everything, part, told):
    assert told in section(everything, part)


def test_every_link_leads_somewhere_on_the_page(everything):
    anchors = re.findall(r'\bid="([^"]+)"', everything)
    assert len(anchors) == len(set(anchors))
    links = re.findall(r'href="#([^"]+)"', everything)
    assert len(links) > 70
    assert set(links) <= set(anchors)


def test_each_curve_has_a_chart_and_a_table(everything):
    charts = set(re.findall(r'<div class="chart" id="([^"]+)"', everything))
    assert charts == set(json.loads(unpacked(everything, "charts")))
    # 2 placements of each point-to-point test, 3 of mbw_mr (two metrics) and of 8 collectives.
    assert len(charts) == 2 * 3 + 3 * 2 + 3 * 8
    assert everything.count('class="values"') == len(charts) + 3


def test_what_the_run_could_not_have_is_told(page):
    document = sample.report("barrier")
    document["end"]["lacking"] = "nothing on RDMA: no QEMU, no kernel"
    assert "nothing on RDMA: no QEMU, no kernel" in section(page(document), "not-measured")


def test_text_from_the_record_is_never_markup(page):
    document = sample.only(sample.with_critical(), "latency")
    entry = sample.find(document, "latency", "openmpi", "tcp-2n")
    entry["findings"] = ("</script><script>alert(1)</script><img src=x>",)
    for case in document["cases"]:
        if case["environ"] == "mpich":
            case["environ"] = "</script><b>"
    html = page(document)
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "</script><b>" not in html
    assert "&lt;img src=x&gt;" in html


@pytest.mark.parametrize("variant", sample.VARIANTS)
def test_every_variant_makes_a_page(page, variant):
    document = sample.only(sample.VARIANTS[variant](), "barrier")
    assert outside_resources(page(document)) == []


def test_a_page_that_would_load_something_is_not_written(judged, tmp_path, monkeypatch):
    monkeypatch.setattr(page_module, "render", lambda *_: "<img src='https://example.org/a.png'>")
    with pytest.raises(FabricheckError, match="loads nothing"):
        page_module.write_page(*judged(sample.report("barrier")), tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_good_run_says_so(page):
    html = page(sample.only(sample.report(), "latency"))
    assert "Nothing: every case was measured, proved and judged good." in words(html)
    assert "Every case of the record ran to its end." in words(html)


def test_a_run_without_cases_makes_a_red_page_without_scripts(page):
    html = page(sample.run_of([]))
    assert "≠ Incomplete" in words(html)
    assert "no test case was run: nothing was measured" in section(html, "not-measured")
    assert "<script" not in html


def test_many_cases_with_one_cause_are_one_entry_with_all_names(page):
    document = sample.only(sample.with_failed_build(), "latency", "barrier")
    text = section(page(document), "wrong")
    assert "latency mpich shm-1n and 4 others" in text
    assert "All 5 cases" in text
    assert "barrier mpich tcp-4n" in text


def test_a_red_case_of_mpi_names_the_layer(judged):
    document = layered.layered()
    layered.redden(document, "latency", "openmpi")
    assert "<p>Layer: fault in the MPI</p>" in render(*judged(document))
