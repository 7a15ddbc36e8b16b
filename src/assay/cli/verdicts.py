"""What `assay duel` and `assay gate` share: their options, and how a verdict is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import rich.box
import typer
from rich.table import Column

from assay.cli.execution import write_json
from assay.support.console import output, say, styled, table_of

if TYPE_CHECKING:
    from assay.support.stats.judgement import Judgement

Margin = Annotated[
    float, typer.Option(metavar="SHARE", help="Differences within it do not matter; 0.05 is five points.")
]
Each = Annotated[bool, typer.Option("--each", help="Every condition is asked for, too.")]
JUnit = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit's XML: worse is a failure.")
]
Markdown = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Write the verdict and the table.")
]


def tell(
    found: Judgement, name: str, target: str | None, junit_file: Path | None, markdown_file: Path | None
) -> None:
    """Write what was asked for, and print the verdict, the table and how it was come by."""
    from assay.measures.gate import HEADS, junit, markdown, table_rows, verdict_sentences

    texts = {junit_file: junit(found, name), markdown_file: markdown(found)}
    for file, text in texts.items():
        if file is not None:
            file.write_text(text, encoding="utf-8")
            say(f"written to {file}", aside=True)
    if target is not None and write_json(found.as_json(), target):
        return
    verdict, *notes = verdict_sentences(found)
    output.print(styled(verdict, "bold"), soft_wrap=True, highlight=False)
    condition, *numbers = HEADS
    columns = [Column(head, justify="right", no_wrap=head != "B is") for head in numbers]
    table = table_of(Column(condition), *columns, box=rich.box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for row in table_rows(found):
        table.add_row(*row)
    output.print(table)
    for note in notes:
        say(note)
