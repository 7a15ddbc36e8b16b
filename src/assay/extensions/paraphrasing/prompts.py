"""Prompts for the four steps, read from ``prompts.yaml`` or a file in the same format."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

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


class Keep(YamlRecord):
    """Constraints on the axis that must not change."""

    things: str
    action: str


class Prompts(YamlRecord):
    """All texts of the prompts; see ``prompts.yaml``."""

    name: str
    """Source of the texts and their digest."""
    every: str
    lines: str
    numbers: str
    object_rules: Mapping[ObjectType, str]
    action_rules: Mapping[ActionType, str]
    keep: Keep
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
                keep=self.keep.things if is_action else self.keep.action,
                count=count,
                known=f" None of these, which are there already:\n{_bullets(known)}" if known else "",
                candidates="\n".join(f"{number}. {line}" for number, line in enumerate(candidates, start=1)),
                named=_bullets(named),
                acted=_bullets(acted),
            ),
        )


@cache
def read_prompts(file: Path | None = None) -> Prompts:
    """Read the prompts from a file, or the built-in ones. Raises PerturbationError that locates the error."""
    place = file or files(__package__).joinpath("prompts.yaml")
    content = load_yaml(place)
    if not isinstance(content, dict):
        raise PerturbationError(f"{place}: expected the fields of prompts.yaml: every, lines, ...")
    digest = hashlib.sha256(place.read_bytes()).hexdigest()[:12]
    name = f"{file.name if file is not None else 'built-in'} {digest}"
    prompts = validate(Prompts, content | {"name": name}, str(place))
    for part, rules, types in (
        ("object_rules", set(map(str, prompts.object_rules)), ObjectType),
        ("action_rules", set(map(str, prompts.action_rules)), ActionType),
    ):
        lacking = [type.value for type in types if type.value not in {*rules, "none"}]
        if lacking:
            raise PerturbationError(f"{place}: {part}: no rule for {', '.join(lacking)}")
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
