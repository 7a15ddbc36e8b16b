"""Texts of others are printed as they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from rich.panel import Panel
from rich.text import Text
from tests.conftest import Said

from assay import tasks
from assay.support import console
from assay.support.console import errors, output, progress_bar, say, table_of, working

ODD = r":100: [100] [bold]put[/bold] \[it] [/] :bowl_with_spoon:"
SOURCES = sorted(Path(console.__file__).parents[1].rglob("*.py"))


def test_lines_are_printed_as_they_are(capfd: pytest.CaptureFixture[str]):
    say(ODD)
    say(ODD, aside=True)
    assert capfd.readouterr() == (f"{ODD}\n", f"{ODD}\n")


def test_heads_cells_titles_and_captions_are_printed_as_they_are(
    wide: None, capfd: pytest.CaptureFixture[str]
):
    table = table_of(ODD, title=ODD, caption=ODD)
    table.add_row(ODD)
    table.add_row(Text(ODD, "red"))
    output.print(table)
    assert capfd.readouterr().out.count(ODD) == 5


HOSTILE = "a\x1b[31mb\x1b]0;title\x07c\rd\x9be\u202ef\u2066g\ud800h\x00i"
HARMLESS = "a\ufffd[31mb\ufffd]0;title\ufffdc\ufffdd\ufffde\ufffdf\ufffdg\ufffdh\ufffdi"


@pytest.mark.parametrize("stream", [output, errors])
def test_no_terminal_obeys_what_somebody_else_wrote(stream: Console, capfd: pytest.CaptureFixture[str]):
    table = table_of(HOSTILE, title=HOSTILE)
    table.add_row(Text(HOSTILE, "red"))
    for each in (HOSTILE, Text(HOSTILE, "red"), Panel(HOSTILE, title=HOSTILE), table):
        stream.print(each, soft_wrap=True)
    say(HOSTILE)
    said = "".join(capfd.readouterr())
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", said)
    assert said.count(HARMLESS) >= 4


def test_what_is_written_in_every_language_stays(capfd: pytest.CaptureFixture[str]):
    text = "schön 碗 صحن קערה 🥣 👨\u200d👩\u200d👧 und\nweiter"
    say(text)
    assert capfd.readouterr().out == text + "\n"


@pytest.mark.parametrize("stream", [output, errors])
def test_neither_console_reads_styles_or_emoji(stream: Console):
    assert stream.render_str(ODD).plain == ODD


def test_what_is_being_done_is_shown_as_it_is():
    status = working(ODD)
    assert str(status.status) == ODD


def test_a_bar_shows_its_description_as_it_is():
    bar = progress_bar()
    bar.add_task(ODD)
    shown = Console(width=400, markup=False, emoji=False)
    with shown.capture() as captured:
        shown.print(bar.get_renderable())
    assert ODD in captured.get()


def test_an_error_is_printed_as_it_is(assay: Callable[..., Said]):
    said = assay("tasks", "show", f"{ODD}.bddl")
    assert said.status == 2 and f"{ODD}.bddl" in said.err


def test_a_task_with_odd_words_is_shown_as_it_is(wide: None, assay: Callable[..., Said], tmp_path: Path):
    file = tmp_path / "[100].bddl"
    asked = tasks.load("libero_goal/7").instruction.text
    file.write_text(
        tasks.bddl.write(tasks.load("libero_goal/7")).replace(f"(:language {asked}", "(:language :100: [100]")
    )
    shown = assay("tasks", "show", file)
    assert shown.status == 0 and ":100: [100]" in shown.out
    listed = assay("tasks", "list", file)
    assert listed.status == 0 and ":100: [100]" in listed.out and "[100].bddl" in listed.out


def test_nothing_escapes_or_prints_elsewhere():
    """Consoles read no markup, so that what is escaped would show its backslashes."""
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES if path.name != "console.py"}
    escaping = [path.name for path, text in texts.items() if "rich.markup" in text]
    assert not escaping, "the consoles print text as it is: do not escape it"
    elsewhere = [path.name for path, text in texts.items() if re.search(r"\bConsole\(", text)]
    assert not elsewhere, "print with assay.support.console"
