"""What mkdocs does with pages: README begins the home page, links have titles, decisions rest.

Links out of docs/ keep their words alone. A link that shows a file's name gets the title of that
page. The decisions are not in the search, where they would come before what a reader looks for.
"""

import os
import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s:#]+)(#[^)]*)?\)")
_NOT_SEARCHED = {"explanation/decisions.md"}


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """The text of a page as the site shows it."""
    folder = os.path.dirname(page.file.src_uri)  # noqa: PTH120
    docs = Path(config["docs_dir"])
    if page.file.src_uri == "index.md":
        readme = (docs.parent / "README.md").read_text("utf-8").replace("](docs/", "](")
        markdown = f"{readme}\n{markdown[markdown.index('## ') :]}"
    if page.file.src_uri in _NOT_SEARCHED:
        page.meta["search"] = {"exclude": True}

    def kept(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(folder, match[2]))  # noqa: PTH118
        if target.startswith("..") or not (docs / target).is_file():
            return match[1]
        if not match[1].endswith(".md"):
            return match[0]
        return f"[{_title(docs / target)}]({match[2]}{match[3] or ''})"

    return _LINK.sub(kept, markdown)


def _title(page: Path) -> str:
    """The heading of a page."""
    return page.read_text("utf-8").partition("\n")[0].removeprefix("# ")
