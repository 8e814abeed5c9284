"""Running ReFrame and finding what it wrote."""

import subprocess
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.runner.selection import Selection


def run(suite: Path, selection: Selection) -> tuple[int, Path]:
    """Run the selected checks; ReFrame's own output is the progress.

    Returns:
        ReFrame's exit code and the path of its run report.

    Raises:
        FabricheckError: if ReFrame ended without a report.
    """
    reports = suite / "reports"
    reports.mkdir(exist_ok=True)
    before = set(reports.glob("run-*.json"))
    command = [
        str(suite / "ci" / "bin" / "reframe"),
        f"--config-file={suite / 'reframe-config.py'}",
        "-c",
        str(suite / "checks"),
        *selection.reframe_options(),
        "-r",
    ]
    ended = subprocess.run(command, cwd=suite, check=False)
    written = set(reports.glob("run-*.json")) - before
    if not written:
        raise FabricheckError(
            f"expected a run report of ReFrame in {reports}, found none (it ended with exit code "
            f"{ended.returncode}): its last words stand above"
        )
    return ended.returncode, max(written, key=lambda path: path.stat().st_mtime)
