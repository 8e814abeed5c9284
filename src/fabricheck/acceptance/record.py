"""The record of an acceptance: JSON that is complete in itself, with signatures; and its page.

A signature holds the digest of all that was signed, so that a record that was changed afterwards is
seen: it protects against mistakes, not against forgers.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NoReturn

import jinja2
import jsonschema

from fabricheck.acceptance import wording
from fabricheck.acceptance.answers import Acceptance, AcceptanceVerdict, Scope
from fabricheck.acceptance.settings import Settings
from fabricheck.acceptance.verify import check_figures
from fabricheck.documents import schema
from fabricheck.errors import FabricheckError
from fabricheck.inputs import read_file
from fabricheck.provenance import SUITE, commit
from fabricheck.report.files import write_whole
from fabricheck.report.offline import require_offline

FORMAT: Final = 4
_SIGNATURES: Final = "signatures"
_OPEN: Final = (Scope.TRANSPORT, Scope.NODES, Scope.CASE)
"""The tables of the page that are open at first."""


def as_record(
    found: Acceptance,
    settings: Settings,
    before: Sequence[str],
    after: Sequence[str],
    series: Sequence[str],
) -> dict[str, Any]:
    """The acceptance as data.

    Args:
        found: the acceptance.
        settings: margins and error rate.
        before: selections of the runs before.
        after: selections of the runs after.
        series: the fields that were selected.
    """
    return {
        "format": FORMAT,
        **wording.summary_data(found),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(SUITE),
        "selected": {"before": list(before), "after": list(after), "series": list(series)},
        "settings": asdict(settings),
        "sessions": {side: list(names) for side, names in found.sessions.items()},
        "interleaved": found.interleaved,
        "control": found.control,
        "cautions": wording.cautions(found),
        "differences": [asdict(each) for each in found.differences],
        "missing": [asdict(each) for each in found.missing],
        "answers": [wording.answer_data(each) for each in found.answers],
        _SIGNATURES: [],
    }


def digest(record: dict[str, Any]) -> str:
    """SHA-256 of a record without its signatures."""
    content = {name: value for name, value in record.items() if name != _SIGNATURES}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def signed(record: dict[str, Any], name: str, comment: str) -> dict[str, Any]:
    """The record with one signature more."""
    signature = {
        "name": name,
        "comment": comment,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "verdict": record["verdict"],
        "digest": digest(record),
    }
    return {**record, _SIGNATURES: [*record[_SIGNATURES], signature]}


def write_record(record: dict[str, Any], path: Path) -> None:
    """Write the record, and beside it its page: one file, no network, no script.

    Raises:
        FabricheckError: if one can't be written.
    """
    page = _page(record)
    write_whole(path, json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False) + "\n")
    write_whole(path.with_suffix(".html"), page)


def page_of(template: str, **given: Any) -> str:
    """A page of a template, whole in itself."""
    # The look is that of the report's page.
    packages = ("fabricheck.acceptance", "fabricheck.report")
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(each) for each in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    html = environment.get_template(template).render(given)
    require_offline(html)
    return html


def _page(record: dict[str, Any]) -> str:
    answers = sorted(
        record["answers"],
        key=lambda each: (AcceptanceVerdict(each["verdict"]).place, -(each["change"] or 0)),
    )
    tables = [
        (heading, [each for each in answers if each["scope"] == scope], scope in _OPEN)
        for scope, heading in wording.HEADINGS.items()
    ]
    shown = [each for each in tables if each[1]]
    return page_of("acceptance.html", record=record, tables=shown, verdicts=AcceptanceVerdict)


def read_record(path: Path) -> dict[str, Any]:
    """A record that was written.

    Raises:
        FabricheckError: if the file is no record of this version, lacks a part or has it in another
            form, differs from what was signed, or says what its pairs don't.
    """
    try:
        record = json.loads(read_file(path), parse_constant=_refuse_constant)
        problem = jsonschema.exceptions.best_match(
            schema("fabricheck.acceptance", "record.schema.json").iter_errors(record)
        )
    except (OSError, ValueError, RecursionError) as error:
        raise FabricheckError(
            f"FC2002 expected the record of an acceptance at {path}, found: {error}: name one that "
            "fabricheck accept --record wrote"
        ) from error
    if not isinstance(record, dict) or record.get("format") != FORMAT or _SIGNATURES not in record:
        raise FabricheckError(
            f"FC2003 expected the record of an acceptance of format {FORMAT} at {path}, found "
            "another file: name one that fabricheck accept --record wrote"
        )
    if problem is not None:
        raise FabricheckError(
            f"FC2004 expected the record of an acceptance at {path}, found at {problem.json_path}: "
            f"{problem.message[:200]}: it is damaged, or was changed by hand; make it again"
        )
    for each in record[_SIGNATURES]:
        if each["digest"] != digest(record):
            raise FabricheckError(
                f"FC2005 expected {path} as {each['name']} signed it at {each['time']}, found it "
                "changed since then: take the file that was signed, or make the acceptance again"
            )
    check_figures(record, path)
    return record


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word}, which is no number")
