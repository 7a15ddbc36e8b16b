"""Prompts of the four steps, from ``prompts.yaml`` or a file like it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any, Literal

from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import ActionType, Cell, ObjectType
from assay.support.llm.protocols import ModelPrompt
from assay.tasks.language.lexicon import YamlRecord, load_yaml, validate

ObjectRule = Literal["addition", "contextual", "habitual"]
ActionRule = Literal[
    "addition",
    "contextual",
    "habitual",
    "coordination",
    "subordination",
    "need",
    "embedded",
    "permission",
    "question",
    "hint",
]
_IN_SYSTEM = ("every", "lines", "numbers")
_IN_USER = {
    "generate": ("original", "things", "rule", "keep", "count", "known"),
    "verify": ("original", "things", "rule", "keep", "candidates"),
    "merge": ("original", "things", "named", "acted", "count", "known"),
    "verify_merged": ("original", "things", "object_rule", "action_rule", "candidates"),
}
_NEEDED = {
    "generate": ("original", "rule"),
    "verify": ("original", "candidates"),
    "merge": ("original", "named", "acted"),
    "verify_merged": ("original", "candidates"),
}


class Texts(YamlRecord):
    """Prompt texts of one step; fields in braces are filled in."""

    system: str
    user: str


class Keep(YamlRecord):
    """Constraints on the axis that must not change."""

    things: str
    action: str


class Prompts(YamlRecord):
    """All texts of the prompts; see ``prompts.yaml``."""

    name: str
    """Source of the texts, and a digest of them."""
    every: str
    lines: str
    numbers: str
    object_rules: Mapping[ObjectRule, str]
    action_rules: Mapping[ActionRule, str]
    keep: Keep
    generate: Texts
    verify: Texts
    merge: Texts
    verify_merged: Texts

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
        """Return the prompt of a step: ``generate``, ``verify``, ``merge`` or ``verify_merged``.

        ``known`` are rewordings not to be repeated; ``named`` and ``acted`` are examples of the two axes to merge.
        """
        texts: Texts = getattr(self, step)
        rules = {
            "object_rule": _find_rule(self.object_rules, cell.object_type),
            "action_rule": _find_rule(self.action_rules, cell.action_type),
        }
        is_action = cell.object_type is ObjectType.NONE
        return ModelPrompt(
            texts.system.format(every=self.every, lines=self.lines, numbers=self.numbers),
            texts.user.format(
                original=original,
                things=", ".join(things),
                rule=rules["action_rule" if is_action else "object_rule"],
                keep=self.keep.things if is_action else self.keep.action,
                count=count,
                known=f" None of these, which are there already:\n{_bullets(known)}" if known else "",
                candidates="\n".join(f"{number}. {line}" for number, line in enumerate(candidates, start=1)),
                named=_bullets(named),
                acted=_bullets(acted),
                **rules,
            ),
        )


@cache
def read_prompts(file: Path | None = None) -> Prompts:
    """Read the prompts of a file, or the built-in ones. Raises PerturbationError that locates the error."""
    place = file or files(__package__).joinpath("prompts.yaml")
    content = load_yaml(place)
    if not isinstance(content, dict):
        raise PerturbationError(f"{place}: must have the parts of prompts.yaml: every, lines, ...")
    digest = hashlib.sha256(place.read_bytes()).hexdigest()[:12]
    name = f"{file.name if file is not None else 'built-in'} {digest}"
    prompts = validate(Prompts, content | {"name": name}, str(place))
    for part, there, valid in (
        ("object_rules", set[str](prompts.object_rules), [type.value for type in ObjectType]),
        ("action_rules", set[str](prompts.action_rules), [type.value for type in ActionType]),
    ):
        lacking = [name for name in valid if name not in there and name != ObjectType.NONE]
        if lacking:
            raise PerturbationError(f"{place}: {part}: there is no rule for {', '.join(lacking)}")
    for step, valid_fields in _IN_USER.items():
        texts: Texts = getattr(prompts, step)
        _check_fields(texts.system, f"{place}: {step}.system", _IN_SYSTEM, ())
        _check_fields(texts.user, f"{place}: {step}.user", valid_fields, _NEEDED[step])
    return prompts


def _check_fields(text: str, where: str, valid: Sequence[str], needed: Sequence[str]) -> None:
    """Raise PerturbationError if a text has an unknown field or lacks a required one."""
    try:
        fields = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    except ValueError as error:
        raise PerturbationError(f"{where}: {error}: write {{{{ for a brace that is no field") from None
    for name in sorted(fields.difference(valid)):
        fillable = ", ".join(f"{{{field}}}" for field in valid)
        raise PerturbationError(f"{where}: nothing fills the field {{{name}}}; valid: {fillable}")
    for name in needed:
        if name not in fields:
            raise PerturbationError(f"{where}: must have the field {{{name}}}")


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _find_rule(rules: Mapping[Any, str], type: str) -> str:
    return rules.get(str(type), "")
