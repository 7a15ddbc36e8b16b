"""A model writes wrong instructions: another thing, another action, another outcome, in the same scene.

They are made from the right one, and may give it away to who reads all four: `assay eqa leak` tells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from assay.eqa.asking.models import Answering, Model
from assay.eqa.asking.prompts import texts
from assay.eqa.drafts.likeness import is_other
from assay.llm import LLMError, Prompt, RefusedError

COUNT = 3
MOST_TEXT = 200
"""Characters of an instruction."""
_WRONG = re.compile(r"<wrong>([^<>]*)</wrong>")


def distractors(instructions: Sequence[str], model: Model) -> tuple[dict[str, tuple[str, ...]], Counter[str]]:
    """Three wrong ones for each instruction, and why some have none. Raises RefusedError if all would not."""
    found: dict[str, tuple[str, ...]] = {}
    dropped: Counter[str] = Counter()

    async def written(answering: Answering, text: str) -> None:
        try:
            wrong, why = checked(text, (await answering(asked(text))).text)
        except LLMError as error:
            if isinstance(error, RefusedError) and error.of_all:
                raise
            wrong, why = (), str(error)
        if wrong:
            found[text] = wrong
        else:
            dropped[why] += 1

    model.with_each(instructions, written)
    return found, dropped


def asked(instruction: str) -> Prompt:
    """What the model is told."""
    return Prompt(texts()["distractors_system"], texts()["distractors"].format(instruction=instruction))


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
