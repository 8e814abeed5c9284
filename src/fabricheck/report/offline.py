"""Proof that a page loads nothing from anywhere."""

import re
from html.parser import HTMLParser

from fabricheck.errors import FabricheckError

_LOADING = frozenset(
    {"action", "archive", "background", "cite", "classid", "codebase", "data", "formaction", "href"}
    | {"icon", "longdesc", "manifest", "ping", "poster", "profile", "src", "srcset", "usemap"}
    | {"xlink:href"}
)
_CSS_LOAD = re.compile(r"@import|url\(\s*['\"]?(?!data:|#)", re.IGNORECASE)


def outside_resources(html: str) -> list[str]:
    """What the page would load or lead to beyond itself: attributes, style sheets, refreshes.

    Links inside the page (``#...``) and embedded data (``data:...``) are not beyond it, and neither
    is a link to a file of this machine, which loads nothing until somebody follows it. Text of
    scripts is not looked at: the page's content security policy, which must be there, denies them
    every connection.
    """
    scan = _Scan()
    scan.feed(html)
    scan.close()
    if not scan.policy:
        scan.found.append("no content security policy that denies all connections")
    return scan.found


def require_offline(html: str) -> None:
    """Refuse a page that is not whole.

    Raises:
        FabricheckError: if the page would load something; the message names the first.
    """
    found = outside_resources(html)
    if found:
        raise FabricheckError(
            f"FC2105 expected a page that loads nothing, found {found[0]}: this is a fault of "
            "fabricheck's page template, please report it"
        )


class _Scan(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.policy = False
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._style = tag == "style"
        if tag == "meta":
            self._meta(values)
        if tag in ("link", "base", "iframe", "object", "embed"):
            self.found.append(f"element <{tag}>")
        for name, value in values.items():
            self._attribute(tag, name, value.strip())

    def handle_endtag(self, tag: str) -> None:
        self._style = self._style and tag != "style"

    def handle_data(self, data: str) -> None:
        if self._style and (match := _CSS_LOAD.search(data)):
            self.found.append(f"style sheet with {match[0]}")

    def _attribute(self, tag: str, name: str, value: str) -> None:
        inside = value.startswith(("#", "data:")) or (
            (tag, name) == ("a", "href") and value.startswith("file:///")
        )
        if name in _LOADING and not inside:
            self.found.append(f"<{tag} {name}={value!r}>")
        if name == "style" and (match := _CSS_LOAD.search(value)):
            self.found.append(f"<{tag}> with style {match[0]}")

    def _meta(self, values: dict[str, str]) -> None:
        kind = values.get("http-equiv", "").lower()
        if kind == "refresh":
            self.found.append("element <meta http-equiv=refresh>")
        if kind == "content-security-policy":
            self.policy = "default-src 'none'" in values.get("content", "")
