"""A real plugin package, installed, through every door."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ExperimentError, PluginError
from assay.support.plugins import Plugin, Registry, from_python, load_plugins
from assay.support.trust import trust

PACKAGE = Path(__file__).parents[2] / "examples" / "plugin"


Said = subprocess.CompletedProcess[str]
Assay = Callable[..., Said]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built and installed by pip into a folder of its own."""
    source, target = tmp_path_factory.mktemp("source") / "plugin", tmp_path_factory.mktemp("installed")
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
            "--disable-pip-version-check", "--target", str(target), str(source),
        ],
        check=True,
    )  # fmt: skip
    return target


CONSOLE = """
import contextlib, io, json, os, sys
from assay.cli.app import main

calls, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    folder, *sys.argv = json.loads(line)
    os.chdir(folder)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    status = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
    print(json.dumps([status, *(each.buffer.getvalue().decode() for each in (out, err))]), file=calls, flush=True)
"""
"""Runs one command after the other, so that one process imports what all of them need."""


@contextmanager
def console(path: Sequence[Path], cache: Path) -> Iterator[Callable[..., Said]]:
    """The command in a process that finds packages in the folders of ``path``."""
    environment = {**os.environ, "ASSAY_CACHE": str(cache), "COLUMNS": "200"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, [Path(__file__).parents[2] / "src", *path]))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", CONSOLE], env=environment, **pipes) as process:

        def run(folder: Path, *arguments: object) -> Said:
            process.stdin.write(json.dumps([str(folder), "assay", *map(str, arguments)]) + "\n")
            process.stdin.flush()
            return Said(arguments, *json.loads(process.stdout.readline()))

        yield run
        process.stdin.close()


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another plugin, which cannot be imported."""
    target = tmp_path_factory.mktemp("broken")
    told = target / "broken-1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[assay.plugins]\nbroken = assay_broken\n")
    (target / "assay_broken.py").write_text("raise RuntimeError('out of order')\n")
    return target


@pytest.fixture(scope="module")
def plugged(
    installed: Path, broken: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Said, Callable[..., Said]]]:
    """What the first command said, and the command, both with the plugin and beside it the broken one."""
    with console([installed, broken], tmp_path_factory.mktemp("cache")) as run:
        yield run(tmp_path_factory.mktemp("first"), "experiments", "list"), run


@pytest.fixture
def with_plugin(plugged: tuple[Said, Callable[..., Said]], tmp_path: Path) -> Callable[..., Said]:
    """The command in a folder of its own, with the plugin."""
    return partial(plugged[1], tmp_path)


@pytest.mark.extensions("eqa", "interop")
def test_a_world_of_somebodys_is_run_resumed_and_reported_by_the_ordinary_commands(
    with_plugin: Assay, tmp_path: Path
):
    command = ["run", "points", "--policy", "lost", "--seeds", "3", "--out", "lost.assay", "--workers", "2"]
    done = with_plugin(*command)
    assert done.returncode == 0, done.stderr
    assert "36 episodes recorded" in done.stdout
    with sqlite3.connect(tmp_path / "lost.assay") as database:
        database.execute("DELETE FROM episodes WHERE id > 30")
    assert "6 episodes recorded" in with_plugin(*command).stdout
    done = with_plugin("report", "lost.assay", "--out", "report", "--json", "lost.json")
    assert done.returncode == 0 and (tmp_path / "report" / "index.html").is_file(), done.stderr
    told = json.loads((tmp_path / "lost.json").read_text())
    verdicts = {finding["flaw"]: finding["verdict"] for finding in told["diagnosis"]}
    assert verdicts["ignores words"] == "found", "it walks on although it is told nothing"
    plugins = told["meta"]["plugins"]
    assert [each["module"].partition(".")[0] for each in plugins] == ["assay_example"] * len(plugins)
    assert plugins and all(each["version"] == "1.0.0" and len(each["digest"]) == 12 for each in plugins)
    assert with_plugin("policies", "list").stdout.count("point") >= 3
    filmed = "run points --policy lost --seeds 1 --conditions control --out filmed.assay --video all"
    with_plugin(*filmed.split())
    assert len(list((tmp_path / "filmed.videos").glob("*.mp4"))) == 4
    certified = with_plugin("certify", "python:assay_example.point:points", "--seeds", "1", "--json", "-")
    assert json.loads(certified.stdout)["conditions"][-1]["certified"] == 8, certified.stderr
    refused = with_plugin("certify", "points", "--seeds", "1", "--tries", "2")
    assert refused.returncode == 2 and "has no actuation noise" in refused.stderr


@pytest.mark.extensions("eqa", "interop")
def test_a_perturbation_and_an_experiment_are_used_by_name_and_by_address(
    with_plugin: Assay, assay: Callable[..., Any], tmp_path: Path
):
    assert "shouting" in with_plugin("experiments", "list").stdout
    assert "words/shout" in with_plugin("experiments", "perturbations").stdout
    for address, out in (
        ("shouting?most=0", "a.assay"),
        ("python:assay_example.shouting:shouting?most=0", "b.assay"),
    ):
        done = with_plugin(
            "run", address, "--policy", "idle", "--tasks", "libero_goal/7", "--seeds", "1", "--steps", "2",
            "--out", out, "--workers", "0",
        )  # fmt: skip
        assert done.returncode == 0 and "2 episodes recorded" in done.stdout, done.stderr
    exported = json.loads(with_plugin("export", "a.assay", "--json", "-").stdout)
    assert exported[1]["instruction"] == "TURN ON THE STOVE" and exported[1]["change"] == "wording"
    said = assay("report", tmp_path / "a.assay", "--json", tmp_path / "a.json")
    assert said.status == 0 and "assay_example" in said.out, (
        "the missing plugin is reported, and nothing else is lost"
    )
    assert json.loads((tmp_path / "a.json").read_text())["conditions"]


@pytest.mark.extensions("eqa", "interop")
def test_asset_packs_measures_and_question_sources_are_used_by_name(with_plugin: Assay, tmp_path: Path):
    done = with_plugin(
        "run", "libero", "--policy", "idle", "--tasks", "libero_goal/7", "--seeds", "1", "--steps", "2",
        "--assets", "example-assets", "--out", "c.assay", "--workers", "1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (
        json.loads(with_plugin("runs", "show", "c.assay", "--json", "-").stdout)["meta"]["pack"]
        == "example-assets"
    )
    done = with_plugin("report", "c.assay", "--out", "report", "--json", "c.json")
    assert done.returncode == 0, done.stderr
    assert "patience" in json.loads((tmp_path / "c.json").read_text())
    assert "Patience" in (tmp_path / "report" / "index.html").read_text()
    assert (tmp_path / "report" / "tables" / "patience.csv").is_file()
    assert (tmp_path / "report" / "figures" / "patience.svg").is_file()
    done = with_plugin(
        "eqa", "build", "--source", "example-questions", "--out", "questions", "--per-kind", "1", "--episodes",
        "1", "--kinds", "L-AI", "--size", "64",
    )  # fmt: skip
    assert (tmp_path / "questions" / "questions.jsonl").is_file(), done.stderr


@pytest.mark.extensions("eqa", "interop")
def test_a_plugin_that_raises_when_imported_names_itself_and_takes_nothing_with_it(
    plugged: tuple[Said, Callable[..., Said]],
):
    done, _ = plugged
    assert done.returncode == 0 and "shouting" in done.stdout
    assert "the plugin 'broken' (assay_broken) cannot be loaded: RuntimeError: out of order" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_address_of_python_is_checked_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "raising_at_import.py").write_text("1 / 0")
    for address, words in (
        ("python:raising_at_import:x", "raising_at_import cannot be imported: ZeroDivisionError"),
        ("python:json:dmups", "did you mean 'dumps'?"),
        ("python:json", "should be python:module:object"),
    ):
        with pytest.raises(ExperimentError, match=words.replace("?", r"\?")):
            from_python(address, ExperimentError)


def test_a_name_is_taken_once():
    registry: Registry[object] = Registry("thing", PluginError, {"own": "json:dumps"})
    registry.register("other", json.loads)
    registry.register("other", json.loads)
    for name, thing in (("own", json.loads), ("other", json.dumps)):
        with pytest.raises(PluginError, match=f"the thing '{name}' already exists"):
            registry.register(name, thing)
    with pytest.raises(PluginError, match="did you mean 'other'"):
        registry["othre"]


def test_what_has_changed_since_a_run_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "changing_plugin.py").write_text("A = 1")
    trust("changing_plugin")
    record = Plugin.from_module("changing_plugin").as_json()
    assert load_plugins([record]) == []
    (line,) = load_plugins([{**record, "digest": "0" * 12}])
    assert "changing_plugin has changed since the run" in line
    (line,) = load_plugins([{**record, "module": "no_such_plugin"}])
    assert "there is no module 'no_such_plugin'" in line
