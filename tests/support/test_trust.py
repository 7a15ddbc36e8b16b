"""Files name modules and functions; none of them is imported or called because a file names it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.cli.runs_on_disk import write_run
from tests.web.conftest import served

from assay.episodes import WORLDS, EpisodeSpec, world_of
from assay.errors import AssayError, PluginError
from assay.experiments.axes import AXES
from assay.experiments.base import EXPERIMENTS
from assay.measures.measure import MEASURES
from assay.report.papers import PAPERS
from assay.runs.store import Store
from assay.sim.packs.registry import PACKS
from assay.support import trust as support_trust
from assay.support.plugins import Registry, load_plugins
from assay.support.trust import change_trusted, is_trusted, locate, read_trusted

TRAP = """
from pathlib import Path
fired = Path(__file__).with_suffix(".fired")
fired.write_text("imported")
def call():
    fired.write_text("called")
"""
EVERY_REGISTRY: tuple[Registry, ...] = (WORLDS, EXPERIMENTS, AXES, MEASURES, PACKS, PAPERS)


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], bool]]:
    """A module ``cleanup`` in the current folder, and a function that says whether it was imported or called."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(support_trust, "_named_by_user", set())
    (tmp_path / "cleanup.py").write_text(TRAP)
    yield (tmp_path / "cleanup.fired").exists
    sys.modules.pop("cleanup", None)


def run_naming(path: Path, module: str = "cleanup") -> Path:
    """A run whose plugins, assets, world and perturbations name a module."""
    wins = {"control": [True, True], "other": [True, False]}
    plugin = {"module": module, "distribution": "", "version": "1.2", "digest": "0" * 12}
    write_run(
        path, wins, plugins=[plugin], experiment=f"python:{module}:call", policy=f"python:{module}:call"
    )
    with Store.writing(path) as store:
        store.plan([EpisodeSpec("libero_goal/1", 0, pack=f"python:{module}:call", condition="pack")])
    return path


@pytest.mark.parametrize("registry", EVERY_REGISTRY, ids=lambda registry: registry.noun.replace(" ", "-"))
def test_no_registry_resolves_an_address_that_only_a_file_names(registry: Registry, trap: Callable[[], bool]):
    with pytest.raises(
        AssayError, match=r"not trusted here and was not loaded; to run its code .* use 'assay plugins trust"
    ):
        registry["python:cleanup:call"]
    with pytest.raises(AssayError, match="not trusted"):
        registry["python:os:getcwd"]  # a module that is loaded already
    with pytest.raises(AssayError, match="there is no module"):
        registry["python:cleanup; rm -rf:call"]
    assert not trap()


@pytest.mark.extensions("eqa")
def test_a_source_of_questions_that_only_a_file_names_is_not_opened(trap: Callable[[], bool]):
    from assay.extensions.eqa.sources import SOURCES

    with pytest.raises(AssayError, match="not trusted"):
        SOURCES["python:cleanup:call"]
    assert not trap()


def test_the_world_of_a_task_is_never_an_address(trap: Callable[[], bool]):
    assert world_of("python:cleanup:call/0").traits.name == "libero"
    with pytest.raises(AssayError, match="not trusted"):
        world_of("libero_goal/1").digest("python:cleanup:call")
    assert not trap()


@pytest.mark.parametrize(
    "words",
    [
        ("report", "RUN"),
        ("report", "RUN", "--out", "page", "--json", "report.json"),
        ("runs", "show", "RUN"),
        ("runs", "list", "."),
        ("runs", "merge", "RUN", "--out", "merged.assay"),
        ("compare", "RUN", "OTHER"),
        ("gate", "RUN", "--baseline", "OTHER"),
        ("export", "RUN", "--csv", "table.csv"),
    ],
    ids=" ".join,
)
def test_no_command_imports_what_a_run_names(words: tuple[str, ...], trap: Callable[[], bool], assay):
    runs = {"RUN": run_naming(Path("stranger.assay")), "OTHER": run_naming(Path("other.assay"))}
    done = assay(*(str(runs.get(word, word)) for word in words))
    assert "Traceback" not in done.out + done.err
    assert not trap()
    if words == ("report", "RUN"):
        line = "the plugin cleanup 1.2, which the run used, is not trusted here and was not loaded; to run its code"
        assert line in " ".join(done.out.split()), done


def test_the_web_app_neither_imports_nor_calls_what_a_run_names(trap: Callable[[], bool]):
    run = run_naming(Path("runs") / "stranger.assay")
    with Store.reading(run) as store:
        keys = [episode.key for episode in store.outcomes()]
    pages = ("", "/report.html", "/episodes", "/gallery", *(f"/episodes/{key}" for key in keys))
    with served("ui", "runs") as address:
        for page in (
            "/",
            *(f"/runs/{quote(run.name)}{page}" for page in pages),
            f"/runs/{run.name}/episodes/{keys[0]}/video",
        ):
            connection = HTTPConnection(address, timeout=60)
            connection.request("GET", page)
            assert connection.getresponse().status < 500, page
            connection.close()
    assert not trap()


def test_a_trusted_plugin_is_loaded_from_the_file_that_was_trusted(
    trap: Callable[[], bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    record = {"module": "cleanup", "version": "1.2", "digest": "0" * 12}
    assert change_trusted(add=["cleanup"]) == {"cleanup": str(tmp_path / "cleanup.py")} and not trap()
    (line,) = load_plugins([record])
    assert trap() and "cleanup has changed since the run: 1.2" in line
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "cleanup.py").write_text(TRAP)
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(tmp_path)])
    sys.modules.pop("cleanup")
    assert locate("cleanup") == str(elsewhere / "cleanup.py") and not is_trusted("cleanup")
    (line,) = load_plugins([record])
    assert "not trusted" in line and not (elsewhere / "cleanup.fired").exists()
    change_trusted(remove=["cleanup"])
    assert read_trusted() == {}


def test_what_the_user_names_is_loaded(trap: Callable[[], bool]):
    with pytest.raises(AssayError):
        PACKS["python:cleanup:call"]
    assert not trap()
    assert PACKS.load("python:cleanup:call").__name__ == "call" and trap()
    assert PACKS["python:cleanup:call"].__name__ == "call", "from now on, files of this process may name it"
    with pytest.raises(AssayError, match="not trusted"):
        PACKS["python:cleanup:Path"]  # another object of the same module


def test_trust_in_a_module_lets_no_file_call_its_functions(trap: Callable[[], bool]):
    change_trusted(add=["cleanup"])
    assert is_trusted("cleanup") and not is_trusted("python:cleanup:call")
    with pytest.raises(AssayError, match="use 'assay plugins trust python:cleanup:call'"):
        world_of("libero_goal/1").digest("python:cleanup:call")
    assert not trap()
    change_trusted(remove=["cleanup"])
    change_trusted(add=["python:cleanup:call"])
    assert is_trusted("cleanup") and PACKS["python:cleanup:call"].__name__ == "call"
    assert change_trusted(remove=["cleanup"]) == {}, "an address is revoked with its module"


def test_workers_load_a_pack_that_the_user_names(tmp_path: Path, assay, monkeypatch: pytest.MonkeyPatch):
    source = (
        "from assay.sim.packs.registry import load_pack\ndef pack():\n    return load_pack('primitives')\n"
    )
    (tmp_path / "own_pack.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    words = ("--policy", "idle", "--tasks", "libero_goal/7", "--seeds", "1", "--steps", "1", "--workers", "1")
    done = assay("try", *words, "--assets", "python:own_pack:pack")
    assert done.status == 0 and "goal not reached" in done.out, done
    done = assay("run", "libero", *words, "--assets", "python:own_pack:pack", "--out", "a.assay")
    assert done.status == 0, done
    with Store.reading(tmp_path / "a.assay") as store:
        assert store.frame()["outcome"].to_list() == ["failure"]


def test_modules_are_found_without_importing_their_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "__init__.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    assert locate("outer.inner") is None
    (tmp_path / "outer" / "inner.py").touch()
    assert locate("outer.inner") == str(tmp_path / "outer" / "inner.py")
    assert locate("no_such_module_anywhere") is None


def test_trust_is_listed_given_and_revoked_by_commands(trap: Callable[[], bool], assay):
    assert "no plugins are installed, and nothing is trusted" in assay("plugins", "list").out
    assert "trusted: cleanup" in assay("plugins", "trust", "cleanup").out
    assert "cleanup" in assay("plugins", "list").out
    assert assay("plugins", "revoke", "cleanup").status == 0
    for words, message in (
        (("trust", "clean-up"), "there is no module 'clean-up'"),
        (("trust", "no_such_module"), "there is no module 'no_such_module'"),
        (("revoke", "cleanup"), "'cleanup' is not trusted; trusted: none"),
    ):
        done = assay("plugins", *words)
        assert done.status == 2 and message in " ".join(done.err.split())
    assert not trap()


def test_damaged_settings_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "assay").mkdir()
    for content in ("{", json.dumps({"trusted": ["a"]}), json.dumps([])):
        (tmp_path / "assay" / "plugins.json").write_text(content)
        with pytest.raises(PluginError, match=r"plugins\.json is damaged"):
            read_trusted()


def test_a_plugin_on_the_command_line_is_trusted_by_it(tmp_path: Path):
    (tmp_path / "quiet.py").write_text(
        "import assay\nfrom assay.perturb import Say\n"
        "@assay.perturbation\nclass Hush(Say):\n    kind = 'words/hush'\n"
        "design = assay.Experiment('hush', 'Quiet.', lambda task: (assay.Variant('hush', (Hush('hush'),)),))\n"
    )
    words = (
        "--policy",
        "idle",
        "--tasks",
        "libero_goal/7",
        "--seeds",
        "1",
        "--steps",
        "1",
        "--out",
        "a.assay",
    )
    for _ in range(2):  # the second time it resumes
        command = [sys.executable, "-m", "assay", "run", "python:quiet:design", *words, "--workers", "1"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
