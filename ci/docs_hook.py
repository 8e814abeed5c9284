"""What mkdocs does with links to files of the repository that are no pages: their words stay."""

import os
import re
from typing import Any

_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s:#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The text of a page, without the links that lead out of docs/, or to a folder."""
    folder = os.path.dirname(page.file.src_uri)  # noqa: PTH120

    def kept(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(folder, match[2]))  # noqa: PTH118
        inside = not target.startswith("..") and os.path.splitext(target)[1]  # noqa: PTH122
        return match[0] if inside else match[1]

    return _LINK.sub(kept, markdown)
