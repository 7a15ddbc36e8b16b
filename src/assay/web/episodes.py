"""What is asked for on the pages of episodes, as an address says it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import Depends, Query

from assay.runs import queries

Text = Annotated[str, Query(max_length=300)]
Sort = Literal[
    "",
    "task",
    "-task",
    "condition",
    "-condition",
    "seed",
    "-seed",
    "outcome",
    "-outcome",
    "steps",
    "-steps",
    "diverges",
    "-diverges",
]


@dataclass(frozen=True, slots=True)
class Filters(queries.Filters):
    """Which episodes are asked for, and in which order; empty means all, as planned."""

    sort: str = ""

    def query(self, **more: int | str) -> str:
        """As part of an address."""
        mine: dict[str, str | int] = {field.name: getattr(self, field.name) for field in fields(self)}
        return urlencode({name: value for name, value in (mine | more).items() if value != ""})

    def sorted_by(self, name: str) -> str:
        """The address of the same episodes sorted by something; the other way round where they are already."""
        return self.query(sort=f"{queries.DESCENDING}{name}" if self.sort == name else name)

    def direction(self, name: str) -> str:
        """How a column is sorted, in the words of ``aria-sort``."""
        ways = {name: "ascending", f"{queries.DESCENDING}{name}": "descending"}
        return ways.get(self.sort, "none")

    @property
    def active(self) -> bool:
        """Whether anything is left out."""
        return bool(self.query(sort=""))


def _asked(
    condition: Text = "",
    task: Text = "",
    outcome: Literal["", "success", "failure", "error", "waiting"] = "",
    object: Text = "",
    action: Text = "",
    label: Text = "",
    says: Text = "",
    sort: Sort = "",
) -> Filters:
    return Filters(condition, task, outcome, object, action, label, says, sort)


Asked = Annotated[Filters, Depends(_asked)]
