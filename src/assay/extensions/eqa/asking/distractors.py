"""A model that sees before and after writes wrong instructions: another thing, another action, another outcome.

They are made from the right one, and may give it away to who reads all four: `assay eqa leak` tells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from assay.extensions.eqa.asking.models import Answering, Model
from assay.extensions.eqa.asking.prompts import picture, texts
from assay.extensions.eqa.build import Case, saved
from assay.extensions.eqa.drafts.likeness import is_other
from assay.extensions.eqa.question import PICTURES
from assay.support.llm import LLMError, Prompt, RefusedError

COUNT = 3
MOST_TEXT = 200
"""Characters of an instruction."""
_WRONG = re.compile(r"<wrong>([^<>]*)</wrong>")


def distractors(
    cases: Sequence[Case], model: Model, folder: Path
) -> tuple[dict[str, tuple[str, ...]], Counter[str]]:
    """Three wrong ones for each episode by its id, and why some have none. Raises RefusedError if all would not.

    What the model is shown is written into a folder.
    """
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    found: dict[str, tuple[str, ...]] = {}
    dropped: Counter[str] = Counter()

    async def written(answering: Answering, case: Case) -> None:
        try:
            wrong, why = checked(case.instruction, (await answering(asked(case, folder))).text)
        except LLMError as error:
            if isinstance(error, RefusedError) and error.of_all:
                raise
            wrong, why = (), str(error)
        if wrong:
            found[case.episode] = wrong
        else:
            dropped[why] += 1

    model.with_each(cases, written)
    return found, dropped


def asked(case: Case, folder: Path) -> Prompt:
    """What the model is told, and shown."""
    words = texts()
    first, second = (picture(folder, saved(folder, each)) for each in case.pictures())
    told = words["distractors"].format(instruction=case.instruction)
    return Prompt(words["distractors_system"], (words["first"], first, words["second"], second, told))


def checked(instruction: str, said: str) -> tuple[tuple[str, ...], str]:
    """Three instructions, each of which names something that no other of the four does; or why not."""
    wrong = tuple(" ".join(each.split()) for each in _WRONG.findall(said))
    if len(wrong) != COUNT:
        return (), f"{len(wrong)} instructions, not {COUNT}"
    if not all(each.isprintable() and len(each) <= MOST_TEXT for each in wrong):
        return (), "not an instruction"
    four = (instruction, *wrong)
    if not all(is_other(one, two) for place, one in enumerate(four) for two in four[:place]):
        return (), "one says the same as another"
    return wrong, ""
