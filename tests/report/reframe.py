"""A made run as ReFrame reports it, for what reads its run reports."""

import json
from pathlib import Path
from typing import Any

from tests.report.sample import Entry, Run

SAME = (
    *("system", "partition", "environ", "result", "fail_phase", "fail_reason", "fixture"),
    *("benchmark", "transport", "num_nodes", "level", "findings", "evidence", "reference_kind"),
    *("reference_source", "mpi", "mpi_version", "program", "program_version", "commit"),
)


def write(run: Run, path: Path) -> Path:
    """Write the run report."""
    path.write_text(json.dumps(report(run)))
    return path


def report(run: Run) -> dict[str, Any]:
    """The run report."""
    cases = [_case(entry) for entry in run["cases"]]
    info = {**run["end"]["info"], "num_cases": run["end"]["announced"]}
    return {"session_info": info, "runs": [{"num_cases": len(cases), "testcases": cases}]}


def _case(entry: Entry) -> dict[str, Any]:
    where = f"{entry['system']}:{entry['partition']}"
    return {
        **{name: entry[name] for name in SAME if name in entry},
        "name": entry["name"],
        "display_name": entry["name"],
        "unique_name": entry["id"],
        "num_tasks": entry.get("ranks"),
        "job_nodelist": entry.get("nodes"),
        "jobid": entry.get("job"),
        "dependencies_actual": [[each, where, entry["environ"]] for each in entry.get("needs", ())],
        "outputdir": entry["output"],
        "levels": {name: each.get("level", "") for name, each in entry["samples"].items()},
        "warning_bounds": {
            name: [each.get("warning_lower"), each.get("warning_upper")]
            for name, each in entry["samples"].items()
        },
        "perfvalues": {f"{where}:{name}": _parts(s) for name, s in entry["samples"].items()},
    }


def _parts(sample: Entry) -> list[Any]:
    reference = sample.get("reference")
    bounds = (sample.get(name) for name in ("lower", "upper"))
    relative = [None if each is None else each / reference - 1 for each in bounds]
    result = "fail" if sample.get("level") == "critical" else "pass"
    return [sample["value"], reference, *relative, sample["unit"], result]
