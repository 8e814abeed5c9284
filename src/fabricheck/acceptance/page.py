"""The page of an acceptance: one file, no network, no script."""

from typing import Any

import jinja2

from fabricheck.acceptance.answers import Scope, Verdict
from fabricheck.acceptance.wording import HEADINGS
from fabricheck.report.offline import require_offline

_OPEN = (Scope.TRANSPORT, Scope.NODES, Scope.CASE)


def render(record: dict[str, Any]) -> str:
    """The page as text."""
    environment = jinja2.Environment(
        # The look is that of the report's page.
        loader=jinja2.ChoiceLoader(
            [
                jinja2.PackageLoader("fabricheck.acceptance"),
                jinja2.PackageLoader("fabricheck.report"),
            ]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    answers = sorted(
        record["answers"], key=lambda each: (Verdict(each["verdict"]).place, -(each["change"] or 0))
    )
    tables = [
        (heading, [each for each in answers if each["scope"] == scope], scope in _OPEN)
        for scope, heading in HEADINGS.items()
    ]
    html = environment.get_template("acceptance.html").render(
        record=record, tables=[each for each in tables if each[1]], verdicts=Verdict
    )
    require_offline(html)
    return html
