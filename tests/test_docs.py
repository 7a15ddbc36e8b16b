"""Commands, options, links and examples on the pages work, and the generated reference is complete."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import assay as public
from assay.cli.app import command_line
from assay.episodes.perturbation import kinds
from assay.errors import AssayError
from assay.measures.measure import MEASURES
from assay.perturb.words.distance.pride import scorer
from assay.report import experiment_sheet
from assay.runs import execute, options
from assay.runs.executor import InProcess
from assay.sim.world import LiberoWorld
from assay.web import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
REFERENCE = {"commands", "options", "api", "perturbations", "json", "glossary"}
"""Pages that the site generates."""
NOT_RUN = {
    "pip install": "installs",
    "make ": "has tests of its own",
    "uv run": "is a command of openpi",
    "assay words setup": "tests/extensions/paraphrasing runs it",
    "assay doctor": "tests/cli runs it",
    "assay assets get": "tests/sim/packs runs it",
    "assay try --policy openpi://gpu-box": "needs a GPU",
}
"""Beginnings of lines that are not run, and why."""
EXIT_STATUSES = {"duel": (0, 1, 3), "gate": (0, 1, 3)}
"""Exit statuses that express a verdict; all other commands must exit with 0."""
Assay = Callable[..., Any]


def code_blocks(page: Path) -> Iterator[tuple[str, str]]:
    yield from re.findall(r"```(\w+)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every `assay` command in a page's shell blocks."""
    for language, block in code_blocks(page):
        for line in block.replace("\\\n", " ").splitlines() if language == "sh" else ():
            line = re.sub(r"^(\w+=\S+ )+", "", line.strip())
            if line.startswith("assay "):
                yield shlex.split(re.sub(r"[\[\]]", " ", line), comments=True)[1:]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.extensions()
@every_page
def test_commands_and_options_exist(page: Path):
    for words in commands(page):
        command: Any = command_line()
        while hasattr(command, "commands") and words and not words[0].startswith("-"):
            if command.name == "import" and words[0] not in command.commands:
                command = command.commands["results"]  # the default
                break
            assert words[0] in command.commands, f"assay {' '.join(words)}"
            command = command.commands[words.pop(0)]
        names = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        words = words[: words.index("--")] if "--" in words else words  # a script's own options follow
        assert {word for word in words if word.startswith("--")} <= names | {"--help"}, (command.name, words)


@every_page
def test_benchmarks_exist(page: Path):
    """Sections after `python -m bench`, modules such as `bench.kills` that can be run, and their options."""
    text = page.read_text(encoding="utf-8")
    for module, words in re.findall(r"python -m ((?:bench|fuzz)[\w.]*)([^`\n#]*)", text):
        file = ROOT.joinpath(*module.split("."))
        file = file / "__main__.py" if file.is_dir() else file.with_suffix(".py")
        source = file.read_text(encoding="utf-8")
        assert '__name__ == "__main__"' in source, module
        arguments = words.split()
        for argument in arguments if module == "bench" else filter(lambda word: word[0] == "-", arguments):
            assert f'"{argument}"' in source, f"{module} {argument}"


@every_page
def test_links_lead_somewhere(page: Path):
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)]+)\)", prose):
        path, _, anchor = link.partition("#")
        if path.startswith("http"):
            continue
        if path.startswith("reference/"):
            assert Path(path).stem in REFERENCE, link
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("name", ["architecture", "dependencies"])
def test_modules_and_source_files_exist(name: str):
    """Names such as `support.files`, and paths such as `runs/plan.py`, exist in the package."""
    source, text = ROOT / "src" / "assay", (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    packages = "|".join(
        path.name for path in source.iterdir() if path.is_dir() and path.name != "__pycache__"
    )
    for path in re.findall(rf"(?<![\w/.-])((?:{packages})/[\w/]+\.py)", text):
        assert (source / path).exists(), path
    for name in re.findall(rf"`(?:assay\.)?((?:{packages})(?:\.\w+)+)`", text):
        module = source.joinpath(*name.split("."))
        parent = module.parent.with_suffix(".py")
        is_member = parent.exists() and module.name in parent.read_text(encoding="utf-8")
        assert module.is_dir() or module.with_suffix(".py").exists() or is_member, name


def test_every_promise_of_the_security_page_names_a_test_that_exists():
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*) \| (.*) \| (.*) \|$", page, re.MULTILINE)[2:]
    tests = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    assert len(rows) >= 10
    for promise, _, shown in rows:
        names = re.findall(r"`(test_\w+)`", shown)
        assert names, promise
        for name in names:
            assert f"def {name}(" in tests, name


@every_page
def test_examples_with_a_trained_model_name_its_assets(page: Path):
    for words in commands(page):
        foreign = any("://" in word or word.startswith("lerobot:") for word in words)
        if foreign and words[0] in ("run", "try", "plan"):
            assert "--assets" in words, " ".join(words)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name == "docs"], ids=lambda page: page.name
)
def test_every_page_links_onwards(page: Path):
    assert re.search(r"\]\([\w-]+\.md", page.read_text(encoding="utf-8"))


@pytest.mark.extensions()
def test_the_components_of_the_extending_page_work_together(tmp_path: Path):
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    for name, body in re.findall(r"```python\n# (\w+\.py)(?:, continued)?\n(.*?)```", text, re.DOTALL):
        with (tmp_path / name).open("a") as file:
            file.write(body)
    script = (
        "import assay, questions, longest, world\n"
        "run = assay.run('python:shouting:shouting?most=1', 'python:my_policy:Mine?speed=0.1', seeds=1, steps=2,\n"
        "    tasks='libero_goal/7', out='a.assay', assets='python:assets:ExamplePack', workers=0)\n"
        "print(*run.frame()['instruction'], run.profile()['longest'].steps, sep='\\n')\n"
        "assert assay.check_world(world.WORLD) == []\n"
        "run = assay.run('python:world:shifted', 'python:world:Follower', seeds=2, out='b.assay', workers=0)\n"
        "print(run.frame()['outcome'].unique().to_list())\n"
    )  # in a separate process, because registrations persist
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    expected = ["turn on the stove", "TURN ON THE STOVE", "TURN ON THE STOVE!", "2", "['success']"]
    assert done.stdout.splitlines() == expected, done.stderr


def test_the_examples_of_the_python_api_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], drawing: str
):
    monkeypatch.chdir(tmp_path)
    horizon = LiberoWorld.horizon  # a success takes 70 steps
    monkeypatch.setattr(LiberoWorld, "horizon", lambda self, spec: min(horizon(self, spec), 100))
    section = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8").partition("## The Python API")[2]
    names: dict[str, object] = {"__name__": "documented"}
    for example in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        exec(compile(example, "extending.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "['success', 'success']" in printed and "bowl, please" in printed and "did you mean" in printed


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make every command cheap: one seed, two steps, no worker processes, few conditions on a sheet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "my_policy", raising=False)
    monkeypatch.setattr(LiberoWorld, "horizon", lambda self, spec: 2)
    monkeypatch.setattr(execute, "LocalProcesses", lambda config, workers, timeout: InProcess(config))
    parse = options.parse_seeds
    monkeypatch.setattr(options, "parse_seeds", lambda seeds: parse(seeds)[:1])
    draw = experiment_sheet.draw_conditions
    monkeypatch.setattr(
        experiment_sheet, "draw_conditions", lambda path, specs, watch: draw(path, specs[:6], watch)
    )
    startup, listen = app._Server.startup, app._listen

    async def start_and_stop(self: Any, sockets: Any = None) -> None:
        await startup(self, sockets)
        self.should_exit = True

    monkeypatch.setattr(app._Server, "startup", start_and_stop)
    monkeypatch.setattr(app, "_listen", lambda port: listen(0))  # the default port may be in use


def shorten(words: list[str]) -> list[str]:
    """Restrict a command to one task and skip certificates, which take the oracle long."""
    if words[1] in ("duel", "search"):
        chosen = [
            "libero_goal/1" if word.startswith("libero_goal") and words[index - 1] == "--tasks" else word
            for index, word in enumerate(words)
        ]
        return [*chosen, "--uncertified", "--workers", "0"]
    return words


@contextmanager
def policy_server(words: list[str]) -> Iterator[str]:
    """The server that a command starts, on a free port; yields host and port."""
    command = [Path(sys.executable).with_name("assay"), *words[1 : words.index("--port")], "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        try:
            yield re.search(r"://([\w.:]+)", process.stdout.readline()).group(1)  # type: ignore[union-attr]
        finally:
            process.terminate()


@pytest.mark.extensions()
@pytest.mark.parametrize(("page", "used"), [
    ("README.md", {"try", "run", "report"}),
    ("docs/index.md", {"try", "plan", "run", "report", "ui", "compare", "duel", "gate", "search", "export"}),
])  # fmt: skip
def test_commands_run_as_printed(
    page: str, used: set[str], small: None, assay: Assay, drawing: str, tmp_path: Path
):
    run = set()
    for language, text in code_blocks(ROOT / page):
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", text)
            file = tmp_path / (name.group(1) if name else "script.py")
            file.write_text(text)
            if file.stem != "my_policy":
                runpy.run_path(str(file), run_name="__main__")
            continue
        lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
        for index, line in enumerate(lines):
            if line.startswith(tuple(NOT_RUN)) or (index and lines[index - 1].startswith("assay serve")):
                continue
            words = shlex.split(line, comments=True)
            assert words[0] == "assay", line
            if words[1] == "serve":
                with policy_server(words) as address:
                    client = shlex.split(lines[index + 1].replace("localhost:8000", address), comments=True)
                    result = assay(*client[1:])
            else:
                result = assay(*shorten(words)[1:])
            assert result.status in EXIT_STATUSES.get(words[1], (0,)), (line, result.out, result.err)
            run.add(words[1])
    assert used <= run
    assert (tmp_path / "report" / "index.html").is_file() and (tmp_path / "runs" / "mine.assay").is_file()


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    pytest.importorskip("mkdocs")
    return import_module("scripts.docs_reference")


@pytest.mark.extensions()
def test_the_reference_describes_everything_that_is_public(reference: ModuleType):
    documented = {f"## assay.{name}" for name in public.__all__}
    assert documented <= set(reference.api_page().splitlines())
    json_page, perturbations = reference.json_page(), reference.perturbations_page()
    assert all(f"| `{name}` |" in json_page for name in MEASURES)
    assert all(f"| `{kind}` |" in perturbations for kind in kinds() if kind.split("/")[0] != "release")
    undocumented = [
        row for row in reference.options_page().splitlines() if re.fullmatch(r"\| `\w+` \|\s+\|", row)
    ]
    assert not undocumented
    assert "## assay run" in reference.commands_page()


def test_distances_on_the_pages_are_what_assay_computes():
    try:
        scorer()
    except AssayError as error:
        pytest.skip(str(error))
    text = (ROOT / "docs" / "words.md").read_text(encoding="utf-8")
    original, paraphrase, s_k, s_t, pd = re.search(
        r'assay\.distance\("(.+?)", "(.+?)"\)  # s_k ([\d.]+), s_t ([\d.]+), pd ([\d.]+)', text
    ).groups()  # type: ignore[union-attr]
    score = public.distance(original, paraphrase)
    assert [f"{value:.2f}" for value in (score.s_k, score.s_t, score.pd)] == [s_k, s_t, pd]
