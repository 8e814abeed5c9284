"""``fabricheck report`` as a user meets it."""

import json
import os
import subprocess
import sys

import pytest
from tests.report import sample

pytestmark = pytest.mark.integration


@pytest.fixture
def fabricheck(tmp_path):
    def run(*arguments, **environment):
        return subprocess.run(
            [sys.executable, "-c", "from fabricheck.cli import main; main()", "report", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    return run


@pytest.mark.parametrize(("variant", "code"), [("good", 0), ("warning", 0), ("critical", 1)])
def test_exit_codes(fabricheck, write, variant, code):
    done = fabricheck("--perflogs", str(write(sample.VARIANTS[variant]())))
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.split()[1] == variant.upper()


def test_the_newest_session_of_the_record_is_the_default(fabricheck, write, tmp_path):
    assert "found no such directory or file: run the checks" in fabricheck("--no-table").stderr
    write(sample.report("barrier"))
    assert f"record  {tmp_path / 'perflogs'}\n" in fabricheck("--no-table").stdout


def test_the_record_can_be_elsewhere(fabricheck, tmp_path):
    sample.write(sample.report("barrier"), tmp_path / "record")
    assert fabricheck("--perflogs", "record").returncode == 0
    assert fabricheck(FABRICHECK_PERFLOGS="record").returncode == 0


def test_json_is_all_that_is_printed(fabricheck, write):
    done = fabricheck("--perflogs", str(write(sample.with_critical())), "--json")
    found = json.loads(done.stdout)
    assert (found["verdict"], done.returncode) == ("critical", 1)


def test_the_page_is_written_and_its_path_told(fabricheck, write, tmp_path):
    document = sample.only(sample.with_critical(), "latency")
    done = fabricheck("--perflogs", str(write(document)), "--html", "page.html")
    assert f"page    {tmp_path / 'page.html'}" in done.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert done.returncode == 1


def test_a_history_that_cannot_be_read_costs_the_comparison_and_not_the_page(
    fabricheck, write, tmp_path
):
    write(sample.only(sample.report(), "barrier"))
    done = fabricheck("--html", "page.html", "--history", "none")
    assert done.returncode == 2
    assert done.stderr.startswith("fabricheck: expected a history in none, found none")
    assert done.stdout.split()[1] == "GOOD"
    page = (tmp_path / "page.html").read_text()
    assert "Not compared</b> with earlier nights: expected a history in none, found none" in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--perflogs", "none"], "run the checks first"),
        (["--session", "none"], "expected session 'none' in the record perflogs"),
        (["--html", "none/page.html"], "cannot write none/page.html"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(fabricheck, write, arguments, words):
    write(sample.report("barrier"))
    done = fabricheck(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert done.stderr.startswith("fabricheck: ")
    assert len(done.stderr.splitlines()) == 1


def test_an_output_without_unicode_still_has_everything(fabricheck, write):
    done = fabricheck("--perflogs", str(write(sample.with_everything())), PYTHONIOENCODING="ascii")
    assert "U untrusted bw mpich tcp-2n on n[1-2]: expected transport tcp" in done.stdout
    assert done.returncode == 1


def test_help_has_examples(fabricheck):
    done = fabricheck("--help", COLUMNS="100")
    assert done.returncode == 0
    assert (
        "fabricheck report --session 20261121T054159Z-login1-4711 --html fabric.html" in done.stdout
    )
