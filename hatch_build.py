"""What the package index shows: the README, whose links must not point into a checkout that the reader has not got.

Where the project lives is read from `repository-code` of CITATION.cff. Relative links become absolute by it; as long as
nobody has published an address, they become their text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!\w+:|#)(?P<path>[^)\s]+)\)")


def address(citation: str) -> str | None:
    """Where the project lives, if the citation says so."""
    found = re.search(r"^repository-code:\s*[\"']?(https?://[^\s\"']+)", citation, re.MULTILINE)
    return found[1].rstrip("/") if found else None


def readme(text: str, base: str | None) -> str:
    """The README with absolute links, or with none into the checkout."""

    def shown(link: re.Match[str]) -> str:
        if base is None:
            return "" if link["image"] else link["text"]
        kind = "raw" if link["image"] else "blob"
        return f"{link['image']}[{link['text']}]({base}/{kind}/HEAD/{link['path']})"

    return LINK.sub(shown, text)


class CustomMetadataHook(MetadataHookInterface):
    """Fills in what `pyproject.toml` calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the README and the addresses."""
        root = Path(self.root)
        base = address((root / "CITATION.cff").read_text(encoding="utf-8"))
        text = readme((root / "README.md").read_text(encoding="utf-8"), base)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = {} if base is None else {"Source": base}
