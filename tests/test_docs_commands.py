"""Every command of the README and of the tutorial, as it is printed and in that order.

They are run in this process, with one seed and two steps for each episode whatever they ask for, a few conditions on a
sheet, and no other workers: what is tried is that they fit together, not what they find. Commands that serve something
end when it is up.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assay.report import experiment_sheet
from assay.runs import execute, options
from assay.runs.executor import InProcess
from assay.sim.world import LiberoWorld
from assay.web import app

ROOT = Path(__file__).parents[1]
LEFT_OUT = {
    "pip install": "installs",
    "make ": "make demo and make test have tests of their own",
    "uv run": "is a command of openpi's",
    "assay words setup": "tests/cli/words/test_setup.py runs it",
    "assay doctor": "looks at the machine; tests/cli/test_doctor.py runs it",
    "assay assets get": "tests/sim/packs/test_fetch.py runs it",
    "assay try --policy openpi://gpu-box": "needs a machine with a GPU",
    "assay libero ": "stands for any script; tests/dropin runs some",
}
"""How lines begin that are not run, and why."""
VERDICTS = {"duel": (0, 1, 3), "gate": (0, 1, 3)}
"""Commands that tell a verdict by their exit status, and those they may end with; others end with 0."""
Assay = Callable[..., Any]


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The code of a page in its order: language and text."""
    yield from re.findall(r"```(\w+)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Episodes that cost next to nothing, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "my_policy", raising=False)
    monkeypatch.setattr(LiberoWorld, "horizon", lambda self, spec: 2)
    monkeypatch.setattr(execute, "LocalProcesses", lambda config, workers, timeout: InProcess(config))
    parse = options.parse_seeds
    monkeypatch.setattr(options, "parse_seeds", lambda seeds: parse(seeds)[:1])
    drawn = experiment_sheet.draw_conditions
    monkeypatch.setattr(
        experiment_sheet, "draw_conditions", lambda path, specs, told: drawn(path, specs[:6], told)
    )
    startup, listening = app._Server.startup, app._listen

    async def once(self: Any, sockets: Any = None) -> None:
        await startup(self, sockets)
        self.should_exit = True

    monkeypatch.setattr(app._Server, "startup", once)
    monkeypatch.setattr(app, "_listen", lambda port: listening(0))  # others may hold the usual one


def smaller(words: list[str]) -> list[str]:
    """A command on fewer tasks and without certificates, which take the oracle long, where it would need some."""
    if words[1] in ("duel", "search") or words[1:3] == ["run", "events"]:
        chosen = [
            "libero_goal/1"
            if each.startswith("libero_goal") and place and words[place - 1] == "--tasks"
            else each
            for place, each in enumerate(words)
        ]
        few = ["--seeds", "1"] if words[1] == "duel" and "--seeds" not in words else []
        return [*chosen, *few, "--uncertified", "--workers", "0"]
    return words


@contextmanager
def served(words: list[str]) -> Iterator[str]:
    """A policy server as a command starts it, at any port that is free; host and port."""
    command = [Path(sys.executable).with_name("assay"), *words[1 : words.index("--port")], "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        try:
            yield re.search(r"://([\w.:]+)", process.stdout.readline()).group(1)  # type: ignore[union-attr]
        finally:
            process.terminate()


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_commands_run_as_they_are_printed(page: str, small: None, assay: Assay, drawing: str, tmp_path: Path):
    done: list[str] = []
    for language, text in blocks(ROOT / page):
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", text)
            file = tmp_path / (name.group(1) if name else "script.py")
            file.write_text(text)
            if file.stem != "my_policy":
                runpy.run_path(str(file), run_name="__main__")
            continue
        assert language == "sh"
        lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
        for place, line in enumerate(lines):
            if line.startswith(tuple(LEFT_OUT)):
                continue
            words = shlex.split(line, comments=True)
            assert words[0] == "assay", line
            if words[1] == "serve":
                with served(words) as address:
                    said = assay(
                        *shlex.split(lines[place + 1].replace("localhost:8000", address), comments=True)[1:]
                    )
                    assert said.status == 0, (lines[place + 1], said.err)
            elif not (place and lines[place - 1].startswith("assay serve")):
                said = assay(*smaller(words)[1:])
                assert said.status in VERDICTS.get(words[1], (0,)), (line, said.out, said.err)
            done.append(words[1])
    assert {"try", "plan", "run", "report", "ui", "duel", "search"} <= set(done)
    assert (tmp_path / "report" / "index.html").is_file() and (tmp_path / "runs" / "mine.assay").is_file()


def test_what_is_left_out_is_printed_somewhere():
    printed = "\n".join(text for page in ("README.md", "docs/tutorial.md") for _, text in blocks(ROOT / page))
    for begin in LEFT_OUT:
        assert re.search(rf"^{re.escape(begin)}", printed, re.MULTILINE), begin
