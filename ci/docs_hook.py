"""What mkdocs does with pages: README begins the home page, links out of docs/ keep their words."""

import os
import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s:#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """The text of a page, without the links that lead out of docs/, or to a folder."""
    folder = os.path.dirname(page.file.src_uri)  # noqa: PTH120
    docs = Path(config["docs_dir"])
    if page.file.src_uri == "index.md":
        readme = (docs.parent / "README.md").read_text("utf-8").replace("](docs/", "](")
        markdown = f"{readme}\n{markdown[markdown.index('## ') :]}"

    def kept(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(folder, match[2]))  # noqa: PTH118
        return match[0] if not target.startswith("..") and (docs / target).is_file() else match[1]

    return _LINK.sub(kept, markdown)
