"""`assay eqa`: questions about robot actions for vision-language models."""

from __future__ import annotations

import typer

from assay.extensions.eqa.commands.answers import annotate, ask, judge, score
from assay.extensions.eqa.commands.questions import build, import_set, leak, review, sheet

app = typer.Typer(
    help="Action questions: does a vision-language model understand actions?", no_args_is_help=True
)
for command in (build, sheet, leak, review, ask, score, annotate, judge):
    app.command(command.__name__)(command)
app.command("import")(import_set)
