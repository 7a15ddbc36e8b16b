"""Tabletop tasks by name: ``tabletop/T1/L1`` is a kind of task at a level; the seed draws the rest."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import TaskError, did_you_mean
from assay.extensions.tabletop.pools import Difficulty, Level, parsed
from assay.extensions.tabletop.tasks import KINDS, Setting

PREFIX = "tabletop/"


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A kind of task at a level."""

    kind: str
    level: Level

    @property
    def id(self) -> str:
        """``tabletop/T1/L1``."""
        return f"{PREFIX}{self.kind}/{self.level}"

    def setting(self, seed: int, difficulty: Difficulty = Difficulty.DEFAULT) -> Setting:
        """What a seed draws."""
        return Setting(self.kind, seed, self.level, difficulty)


def table_entry(task_id: str) -> TableEntry:
    """The task of that id. Raises TaskError that says what is valid."""
    parts = task_id.removeprefix(PREFIX).split("/")
    if len(parts) != 2 or parts[0] not in KINDS:
        raise TaskError(f"there is no tabletop task '{task_id}': {did_you_mean(task_id, _ids())}")
    kind, level = KINDS[parts[0]], parsed(Level, parts[1])
    if level not in kind.levels:
        raise TaskError(f"{kind.id} has no level {level}; valid: {', '.join(kind.levels)}")
    return TableEntry(kind.id, level)


def resolve_tables(selection: str) -> tuple[TableEntry, ...]:
    """The tasks that a selection names, each once, level by level.

    A selection is ``all``, or kinds, levels and ids with commas between them: ``T1,L4,T2/L3``; the ids with
    or without ``tabletop/``.
    Raises TaskError with the nearest name for anything unknown.
    """
    every = [table_entry(each) for each in _ids()]
    chosen: set[TableEntry] = set()
    for name in (part.strip() for part in selection.split(",") if part.strip()):
        short = name.removeprefix(PREFIX)
        found = {each for each in every if short in ("all", each.kind, each.level, each.id[len(PREFIX) :])}
        if not found:
            if "/" in short:
                table_entry(name)
            near = did_you_mean(name, ["all", *Level, *KINDS])
            raise TaskError(f"there is no tabletop task '{name}' (kinds, levels, ids as T1/L1): {near}")
        chosen |= found
    if not chosen:
        raise TaskError(f"'{selection}' selects no tabletop task: valid: all, {', '.join(Level)}, T1 to T17")
    return tuple(each for each in every if each in chosen)


def _ids() -> list[str]:
    return [f"{PREFIX}{kind.id}/{each}" for each in Level for kind in KINDS.values() if each in kind.levels]
