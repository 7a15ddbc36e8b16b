"""What is asked for on the page of episodes, as an address says it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from urllib.parse import urlencode

from assay.runs import queries


@dataclass(frozen=True, slots=True)
class Filters(queries.Filters):
    """Which episodes are asked for; empty means all."""

    def query(self, **more: int) -> str:
        """As part of an address."""
        mine: dict[str, str | int] = {each.name: getattr(self, each.name) for each in fields(self)}
        return urlencode({name: value for name, value in (mine | more).items() if value != ""})

    @property
    def active(self) -> bool:
        """Whether anything is left out."""
        return bool(self.query())
