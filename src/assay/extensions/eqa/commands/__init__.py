"""`assay eqa`: questions about robot actions for vision-language models."""

from __future__ import annotations

import typer

from assay.extensions.eqa.commands import answers, questions

app = typer.Typer(
    help="Action questions: does a vision-language model understand actions?", no_args_is_help=True
)
app.command("build")(questions.build)
app.command("import")(questions.import_set)
app.command("sheet")(questions.sheet)
app.command("leak")(questions.leak)
app.command("review")(questions.review)
app.command("ask")(answers.ask)
app.command("score")(answers.score)
app.command("annotate")(answers.annotate)
app.command("judge")(answers.judge)
