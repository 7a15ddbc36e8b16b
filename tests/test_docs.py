"""The documents name commands, options, pages and places that exist, and their how-tos run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cli.app import command_line

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every `assay` command in a page's shell blocks."""
    for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"^(\w+=\S+ )+", "", line.strip())
            if line.startswith("assay "):
                yield shlex.split(re.sub(r"[\[\]]", " ", line), comments=True)[1:]


def anchors(page: Path) -> set[str]:
    """The places in a page that can be linked to."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pages
def test_commands_and_options_exist(page: Path):
    for words in commands(page):
        command = command_line()
        while hasattr(command, "commands") and words and not words[0].startswith("-"):
            if words[0] not in command.commands and hasattr(command, "default"):
                command = command.commands[command.default]
                break
            assert words[0] in command.commands, f"assay {' '.join(words)}"
            command = command.commands[words.pop(0)]
        known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
        words = words[: words.index("--")] if "--" in words else words  # what follows is somebody's script
        assert {word for word in words if word.startswith("--")} <= known, (command.name, words)


@pages
def test_links_lead_somewhere(page: Path):
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)]+)\)", prose):
        path, _, anchor = link.partition("#")
        if path.startswith("http"):
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_how_tos_of_contributing_run(tmp_path: Path):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n# (\w+\.py)(?:, continued)?\n(.*?)```", text, re.DOTALL)
    for name, body in snippets:
        assert body.count("\n") <= 42, f"{name}: a how-to is short"
        with (tmp_path / name).open("a") as file:
            file.write(body)
    script = (
        "import assay, questions, world\n"
        "assert not assay.check_world(world.WORLD)\n"
        "done = assay.run('python:shouting:shouting?most=1', 'python:my_policy:Mine?speed=0.1', seeds=1, steps=2,\n"
        "    tasks='libero_goal/7', out='a.assay', assets='python:assets:ExamplePack', workers=0)\n"
        "print(*done.frame()['instruction'], sep='\\n')"
    )  # in a process of its own: what is registered stays
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["turn on the stove", "TURN ON THE STOVE", "TURN ON THE STOVE!"], (
        done.stderr
    )


@pages
def test_examples_with_somebody_elses_model_say_which_assets_it_sees(page: Path):
    for words in commands(page):
        foreign = any("://" in word or word.startswith("lerobot:") for word in words)
        if foreign and words[0] in ("run", "try", "plan"):
            assert "--assets" in words, " ".join(words)
