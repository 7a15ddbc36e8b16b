"""`assay words setup`: the language models that distances need."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.support.console import progress_bar, say


def setup(
    record: Annotated[Path | None, typer.Option(help="Write down where they are, a file a line.")] = None,
) -> None:
    """Fetch the parser and the word embeddings where they are not here yet, and try them."""
    from assay.perturb.words.distance.models import (
        MINILM,
        PARSER,
        PARSER_VERSION,
        ensure_minilm,
        ensure_parser,
        model_paths,
    )

    with progress_bar() as bar:
        task = bar.add_task(f"{PARSER} {PARSER_VERSION}, 13 MB", total=3)
        ensure_parser()
        bar.update(task, advance=1, description=f"{MINILM}, 84 MB")
        ensure_minilm()
        bar.update(task, advance=1, description="trying them")
        from assay.perturb.words.distance import distance

        found = distance("turn on the stove", "turn on the range")
    if record is not None:
        record.write_text("".join(f"{path.absolute()}\n" for path in model_paths()), encoding="utf-8")
    say(
        f"distances work, with {found.parser} and {MINILM}: "
        f"'turn on the range' is {found.pd:.2f} from 'turn on the stove'"
    )
