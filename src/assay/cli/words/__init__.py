"""`assay words`: reword instructions, and measure how far they have moved."""

from __future__ import annotations

import typer

from assay.cli.words.agree import agree
from assay.cli.words.generate import generate
from assay.cli.words.llm import llm
from assay.cli.words.score import score
from assay.cli.words.setup import setup
from assay.cli.words.stats import stats
from assay.cli.words.verify import verify

app = typer.Typer(help="Reword instructions, and measure how far they have moved.", no_args_is_help=True)
for command in (generate, verify, stats, agree, score, setup, llm):
    app.command(command.__name__)(command)
