"""Prompts for the four steps of the pipeline, read from ``prompts.yaml`` or a file in the same format."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import ActionType, Cell, ObjectType
from assay.support.llm.protocols import ModelPrompt
from assay.tasks.language.lexicon import YamlRecord, load_yaml, validate

_REQUIRED = {
    "generate": ("{original}", "{rule}"),
    "verify": ("{original}", "{candidates}"),
    "merge": ("{original}", "{named}", "{acted}"),
    "verify_merged": ("{original}", "{candidates}"),
}
"""Step -> fields that its prompt must contain."""


class StepTexts(YamlRecord):
    """Prompt texts for one step; fields in braces are filled in."""

    system: str
    user: str


class Prompts(YamlRecord):
    """All texts of the prompts; see ``prompts.yaml``."""

    name: str
    """File name of the texts, or ``built-in``, and their digest."""
    every: str
    """Requirements for every rewording; replaces {every} in the system prompts."""
    lines: str
    """Form of a reply with rewordings; replaces {lines} in the system prompts."""
    numbers: str
    """Form of a reply with numbers; replaces {numbers} in the system prompts."""
    object_rules: Mapping[ObjectType, str]
    action_rules: Mapping[ActionType, str]
    keep: Mapping[Literal["things", "action"], str]
    """Constraint on the axis that must not change: the names of objects, or the action."""
    generate: StepTexts
    verify: StepTexts
    merge: StepTexts
    verify_merged: StepTexts

    def fill(
        self,
        step: str,
        original: str,
        things: Sequence[str],
        cell: Cell,
        *,
        count: int = 0,
        known: Sequence[str] = (),
        candidates: Sequence[str] = (),
        named: Sequence[str] = (),
        acted: Sequence[str] = (),
    ) -> ModelPrompt:
        """Return the prompt for a step: ``generate``, ``verify``, ``merge`` or ``verify_merged``.

        ``known`` lists rewordings not to be repeated; ``named`` and ``acted`` are examples from the two axes to merge.
        """
        texts: StepTexts = getattr(self, step)
        is_action = cell.object_type is ObjectType.NONE
        object_rule = self.object_rules.get(cell.object_type, "")
        action_rule = self.action_rules.get(cell.action_type, "")
        return ModelPrompt(
            texts.system.format(every=self.every, lines=self.lines, numbers=self.numbers),
            texts.user.format(
                original=original,
                things=", ".join(things),
                object_rule=object_rule,
                action_rule=action_rule,
                rule=action_rule if is_action else object_rule,
                keep=self.keep["things" if is_action else "action"],
                count=count,
                known=f" None of these, which are there already:\n{_bullets(known)}" if known else "",
                candidates="\n".join(f"{number}. {line}" for number, line in enumerate(candidates, start=1)),
                named=_bullets(named),
                acted=_bullets(acted),
            ),
        )


@cache
def read_prompts(file: Path | None = None) -> Prompts:
    """Read the prompts from a file, or the built-in ones.

    Raises PerturbationError, with the location, for invalid prompts.
    """
    place = file or files(__package__).joinpath("prompts.yaml")
    content = load_yaml(place)
    if not isinstance(content, dict):
        raise PerturbationError(f"{place}: expected the fields of prompts.yaml: every, lines, ...")
    digest = hashlib.sha256(place.read_bytes()).hexdigest()[:12]
    name = f"{file.name if file is not None else 'built-in'} {digest}"
    prompts = validate(Prompts, content | {"name": name}, str(place))
    lacking = [f"object_rules.{type}" for type in ObjectType if type not in (*prompts.object_rules, "none")]
    lacking += [f"action_rules.{type}" for type in ActionType if type not in (*prompts.action_rules, "none")]
    if lacking:
        raise PerturbationError(f"{place}: missing {', '.join(lacking)}")
    for step, required in _REQUIRED.items():
        try:
            prompts.fill(step, "", (), Cell(ObjectType.NONE, ActionType.NONE))
        except (KeyError, IndexError, ValueError) as error:
            raise PerturbationError(f"{place}: {step}: cannot fill the field {error} of its text") from None
        for field in required:
            if field not in getattr(prompts, step).user:
                raise PerturbationError(f"{place}: {step}.user: needs the field {field}")
    return prompts


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
