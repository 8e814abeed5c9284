#!/usr/bin/env python3
"""Write the table of docs/reference/errors.md from the errors that the code raises.

With --check nothing is written: the exit code is 1 when the document is out of date.

example:
    ci/document-errors.py
"""

import ast
import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from generated import write_or_check

SUITE = Path(__file__).resolve().parents[1]
DOCUMENT = SUITE / "docs" / "reference" / "errors.md"
WORDS = 3
"""So many words show what a code is of; the others appear when a reader points at them."""
LAST = re.compile(
    r"(of|in|to|that|with|from|for|on|at|and|or|as|by|is|not|what|which|has|under|<\.{3}>),?|\(.*"
)
"""Words that no cell ends with."""
_CODED = re.compile(r"(FC\d{4}) (.*)", re.DOTALL)


def errors() -> Iterator[tuple[str, str]]:
    """Code and sentence of each error; `<name>` stands for what differs."""
    for path in sorted((SUITE / "src" / "fabricheck").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            # A sentence is an error's argument, or is named first.
            sentences = getattr(node, "args", []) if isinstance(node, ast.Call) else ()
            sentences = [node.value] if isinstance(node, ast.Assign) else sentences
            if coded := _CODED.fullmatch(_text(sentences[0])) if sentences else None:
                yield coded[1], coded[2]


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.FormattedValue):
        names = [each for each in ast.walk(node.value) if isinstance(each, ast.Name)]
        attributes = [each for each in ast.walk(node.value) if isinstance(each, ast.Attribute)]
        if isinstance(node.value, ast.Name):
            return f"<{names[0].id.strip('_').lower()}>"
        if isinstance(node.value, ast.Attribute):
            return f"<{attributes[0].attr.strip('_').lower()}>"
        return "<...>"
    return ""


def expected(sentence: str) -> str:
    """What a sentence expects, without what it found; all of it where it is in another form."""
    return re.sub(r"(?:^|^<path>: )expected |,? (?:but )?found\b.*", "", sentence, flags=re.DOTALL)


def plain(sentence: str) -> str:
    """What a sentence expects: no place, no articles, no clause after it."""
    text = re.sub(
        r"^(?:<\w+>(?:, line <\w+>)?: )?(?:line <[\w.]+>(?: of the output)?: )?(?:<place>)?"
        r"(?:expected )?",
        "",
        expected(sentence),
    )
    text = re.sub(r"\s*\([^)]*<[^)]*\)|(?<![<\w])(?:an?|the) ", "", text)
    return re.split(
        r": |; |, (?:and|as|but|which|such|if|each|since|with)\b| such as| \(such", text
    )[0].strip()


def cell(text: str) -> str:
    """Its first words; where these are not all, the whole is what a browser shows beside them."""
    words = text.split()
    if len(words) > WORDS:
        words = words[:WORDS]
        while len(words) > 1 and LAST.fullmatch(words[-1]):
            words.pop()
        brief = f"`{' '.join(words).rstrip(',')} …`"
        shown = f'<span title="{html.escape(text)}">{brief}</span>'
    else:
        shown = f"`{text}`"
    return shown.replace("|", "\\|")


def main() -> int:
    """Write or check."""
    table = ["| code | expected |", "|---|---|"]
    parsing = []
    for code, sentence in sorted(errors()):
        anchor = f'<a id="{code.lower()}"></a>{code}'
        if sentence.startswith("<source>"):
            parsing.append(anchor)
            continue
        table.append(f"| {anchor} | {cell(plain(sentence))} |")
    table.append(f"| {' '.join(parsing)} | an output as its program prints it, whole |")
    return write_or_check(__doc__, DOCUMENT, "ci/document-errors.py", ["\n".join(table)])


if __name__ == "__main__":
    sys.exit(main())
