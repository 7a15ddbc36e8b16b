"""`assay words score`: how far paraphrases are from their originals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.support.console import progress_bar, say


def score(
    table: Annotated[
        Path, typer.Argument(metavar="IN.csv", help="With columns original_instruction and new_instruction.")
    ],
    out: Annotated[Path, typer.Option(help="The CSV file to write.")],
    alpha: Annotated[float, typer.Option(help="Weight of the keywords in pd: 0 to 1.")] = 0.5,
    baselines: Annotated[bool, typer.Option("--baselines", help="Add BLEU, METEOR and BERTScore.")] = False,
    bert_model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|DIR",
            help="BERTScore's model, of those you have: roberta-large, roberta-large/17 (its layer), a folder.",
        ),
    ] = None,
) -> None:
    """Add s_k, s_t, pd, parser and embedding to a table of paraphrases; every other column is kept.

    Exit status 1 if a row has no score; the column pd_warning says why.
    """
    from assay.perturb.words.distance.models import MINILM
    from assay.perturb.words.distance.table import read_table, score_table
    from assay.support.files import replacing

    frame = read_table(table)
    with replacing(out) as unfinished:
        with progress_bar() as bar:
            task = bar.add_task("pairs", total=len(frame))
            scored = score_table(
                frame,
                alpha=alpha,
                baselines=baselines or bert_model is not None,
                bert_model=bert_model or MINILM,
                on_scored=lambda count: bar.advance(task, count),
            )
        scored.frame.write_csv(unfinished)
    say(f"{len(frame) - scored.refused} pairs scored with {scored.parser} and {MINILM}: {out}")
    for reason, count in scored.reasons.items():
        say(f"{count} x {reason}", aside=True)
    if scored.refused:
        say(f"{scored.refused} of {len(frame)} have no score", aside=True)
        raise typer.Exit(1)
