"""LIBERO-PRO's language table: three rewordings of every instruction."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from assay import tasks
from assay.errors import did_you_mean
from assay.perturb.words.releases.base import ReleaseError, Wording, found, instruction, task_of_file, text_of
from assay.tasks.checks import quoted

TABLES = ("libero_ood/ood_language.yaml", "ood_language.yaml")


def read(folder: Path) -> tuple[Wording, ...]:
    """The table's rewordings, numbered for each task."""
    file = found(folder, "LIBERO-PRO", *TABLES)
    try:
        content = yaml.safe_load(text_of(file))
    except yaml.YAMLError as error:
        raise ReleaseError(f"{file}: is not YAML: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(content, dict) or not content:
        raise ReleaseError(f"{file}: must map suites to tasks to lists of instructions")
    return tuple(_wordings(content, file))


def _wordings(content: dict[object, object], file: Path) -> Iterator[Wording]:
    for suite, table in content.items():
        if suite not in tasks.suites():
            nearest = did_you_mean(str(suite)[:80], tasks.suites())
            raise ReleaseError(f"{file}: there is no suite {quoted(str(suite))}: {nearest}")
        if not isinstance(table, dict):
            raise ReleaseError(f"{file}: {suite}: must map tasks to lists of instructions")
        for name, texts in table.items():
            place = f"{file}: {suite}"
            task = task_of_file(str(name), place, suite=str(suite))
            if not isinstance(texts, list) or not texts:
                raise ReleaseError(f"{place}: {quoted(str(name), most=120)} must have a list of instructions")
            for number, text in enumerate(texts):
                yield Wording(task, instruction(_with_colon(text), f"{place}: {task}"), {"number": number})


def _with_colon(text: object) -> object:
    """An instruction with an unquoted colon, which YAML takes for a mapping, as the instruction it was."""
    if isinstance(text, dict) and len(text) == 1:
        ((before, after),) = text.items()
        return f"{before}: {after}"
    return text
