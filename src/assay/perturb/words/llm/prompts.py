"""What a model is told in each of the four steps; the words are in ``prompts.yaml``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from assay.llm.prompt import Prompt
from assay.perturb.words.grid.cells import Cell, ObjectType


def generate(original: str, things: Sequence[str], cell: Cell, count: int, known: Sequence[str]) -> Prompt:
    """Step 1: rewordings along one axis; none like those that are known."""
    return _fill(
        "generate", original, things, rule=_rule(cell), keep=_keep(cell), count=count, known=_not_again(known)
    )


def verify(original: str, things: Sequence[str], cell: Cell, candidates: Sequence[str]) -> Prompt:
    """Step 2: which of them keep to the rules."""
    rules = {"rule": _rule(cell), "keep": _keep(cell)}
    return _fill("verify", original, things, candidates=_number_lines(candidates), **rules)


def merge(
    original: str,
    things: Sequence[str],
    named: Sequence[str],
    acted: Sequence[str],
    count: int,
    known: Sequence[str],
) -> Prompt:
    """Step 3: both changes in one sentence, after examples of each axis."""
    examples = {"named": _bullets(named), "acted": _bullets(acted)}
    return _fill("merge", original, things, count=count, known=_not_again(known), **examples)


def verify_merged(original: str, things: Sequence[str], cell: Cell, candidates: Sequence[str]) -> Prompt:
    """Step 4: which of those keep to the rules."""
    rules = {
        "object_rule": _texts()["object_rules"][cell.object_type.value],
        "action_rule": _texts()["action_rules"][cell.action_type.value],
    }
    return _fill("verify_merged", original, things, candidates=_number_lines(candidates), **rules)


@cache
def _texts() -> Any:
    return yaml.safe_load(files(__package__).joinpath("prompts.yaml").read_text(encoding="utf-8"))


def _fill(step: str, original: str, things: Sequence[str], **fields: object) -> Prompt:
    texts = _texts()
    system = texts[step]["system"].format(**{name: texts[name] for name in ("every", "lines", "numbers")})
    user = texts[step]["user"].format(original=original, things=", ".join(things), **fields)
    return Prompt(system, user)


def _rule(cell: Cell) -> str:
    on_actions = cell.object_type is ObjectType.NONE
    rules = _texts()["action_rules" if on_actions else "object_rules"]
    return str(rules[(cell.action_type if on_actions else cell.object_type).value])


def _keep(cell: Cell) -> str:
    return str(_texts()["keep"]["things" if cell.object_type is ObjectType.NONE else "action"])


def _not_again(known: Sequence[str]) -> str:
    return f" None of these, which are there already:\n{_bullets(known)}" if known else ""


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _number_lines(lines: Sequence[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
