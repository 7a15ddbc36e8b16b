from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Tables and pictures are small, and cores are busy: threads only wait for each other.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("LP_NUM_THREADS", "0")

import pytest
from hypothesis import settings
from tests.forked import Forked

from assay import tasks
from assay.cli.app import main
from assay.episodes import EpisodeSpec
from assay.errors import RenderingError
from assay.runs.worker import EpisodeRunner, WorkerConfig
from assay.sim import gl
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.packs.libero import LiberoPack
from assay.sim.packs.locate import LIBERO_VARIABLE, ROBOSUITE_VARIABLE
from assay.sim.packs.pack import AssetPack
from assay.sim.simulation import Simulation
from assay.support import console
from assay.support.files import CACHE_VARIABLE
from assay.tasks import Scene

# Models and images are made anew by test after test: their memory is kept, not given back and cleared each time.
KEPT = 1 << 29
if sys.platform == "linux":
    for variable, option in (("MALLOC_TRIM_THRESHOLD_", -1), ("MALLOC_MMAP_THRESHOLD_", -3)):
        os.environ.setdefault(variable, str(KEPT))  # for processes that are started
        with suppress(AttributeError):  # another C library than glibc
            ctypes.CDLL(None).mallopt(option, KEPT)

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# What tests keep must not be the user's, nor what an earlier run left.
_cache = tempfile.mkdtemp(prefix="assay-cache-")
os.environ[CACHE_VARIABLE] = _cache


def _cache_of_its_own(folder: Path) -> None:
    os.environ[CACHE_VARIABLE] = str(folder / "cache")


def pytest_unconfigure() -> None:
    """Leave nothing behind; processes that are forked from this one never come here."""
    shutil.rmtree(_cache, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--jobs``: tests in several processes."""
    parser.addoption("--jobs", type=int, default=1, help="processes that run tests")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of extensions; run tests in several processes if requested."""
    config.addinivalue_line("markers", "extensions(*names): skip if one of them, by default any, was deleted")
    if (jobs := config.getoption("jobs")) > 1:
        config.pluginmanager.register(Forked(jobs, _cache_of_its_own))


MANY = 1_000
"""Tests for which it is worth it to have what most of them need before processes are forked."""
LONGEST = (
    "test_planted_flaws.py",
    "test_on_ray.py",
    "test_examples.py",
    "test_browser.py",
    "test_calibration.py",
    "test_driver.py",
    "test_plugins.py",
)
"""Files that take longest: they begin first, so that no worker waits for the other in the end."""

_FOLDER = Path(__file__).parents[1] / "src" / "assay" / "extensions"
EXTENSIONS = ("dropin", "eqa", "generate", "interop", "learn", "papers", "paraphrasing", "probe", "tabletop")
"""Extensions that examples, documentation and fuzzers use together."""

_SHARED = Path(os.environ.get("ASSAY_SHARED", Path(__file__).parents[2] / "shared"))


def _load_loops() -> None:
    """Play a little with the oracle: the inner loops become machine code once, not in each process that is forked."""
    runner = EpisodeRunner(WorkerConfig("oracle"))
    runner.run(EpisodeSpec("libero_goal/7", 0, steps=70))
    runner.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of deleted extensions, and run the longest files first."""
    for item in items:
        for marker in item.iter_markers("extensions"):
            missing = [name for name in marker.args or EXTENSIONS if not (_FOLDER / name).is_dir()]
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"the extension {missing[0]} was deleted"))
    items.sort(key=lambda item: LONGEST.index(name) if (name := item.path.name) in LONGEST else len(LONGEST))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Modules and tests stay until the end: not to look through them for garbage saves a tenth of the time."""
    if session.config.getoption("jobs") > 1 and len(session.items) > MANY:
        _load_loops()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data; tests that need it are skipped where it is absent."""
    if not (_SHARED / "libero" / "bddl").is_dir():
        pytest.skip(f"no reference data at {_SHARED} (set ASSAY_SHARED)")
    return _SHARED


@pytest.fixture(scope="session")
def reference(shared: Path) -> Path:
    """The recordings of LIBERO itself."""
    return shared / "libero" / "reference"


@pytest.fixture(scope="session")
def primitives() -> AssetPack:
    """The pack that ships with Assay."""
    return AssetPack()


@pytest.fixture(scope="session")
def libero(shared: Path) -> LiberoPack:
    """LIBERO's own assets."""
    return LiberoPack(shared / "libero" / "assets", shared / "libero" / "robosuite_assets")


def _compile_once(pack: AssetPack) -> Callable[[str], CompiledScene]:
    """Compiles the scene of a built-in task, once per scene."""

    @cache
    def once(scene: Scene) -> CompiledScene:
        return compile_scene(scene, pack)

    return lambda task_id: once(tasks.load(task_id).scene)


@pytest.fixture(scope="session")
def compiled(primitives: AssetPack) -> Callable[[str], CompiledScene]:
    """Compiles the scene of a built-in task on primitives."""
    return _compile_once(primitives)


@pytest.fixture(scope="session")
def compiled_libero(libero: LiberoPack) -> Callable[[str], CompiledScene]:
    """Compiles the scene of a built-in task on LIBERO's assets."""
    return _compile_once(libero)


@pytest.fixture
def world_of() -> Iterator[Callable[[CompiledScene], Simulation]]:
    """Makes worlds that are closed at the end of the test."""
    worlds: list[Simulation] = []

    def made(scene: CompiledScene) -> Simulation:
        worlds.append(Simulation(scene))
        return worlds[-1]

    yield made
    for world in worlds:
        world.close()


@pytest.fixture(scope="session")
def drawing() -> str:
    """The way pictures are drawn here; tests that draw are skipped where there is none."""
    try:
        return gl.backend()
    except RenderingError as error:
        pytest.skip(str(error))


@pytest.fixture
def no_assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nobody has named LIBERO's assets; returns its configuration folder."""
    monkeypatch.delenv(LIBERO_VARIABLE, raising=False)
    monkeypatch.delenv(ROBOSUITE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


@dataclass(frozen=True)
class Said:
    """How a command ended and what it said."""

    status: int
    out: str
    err: str


@pytest.fixture
def assay(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Runs the ``assay`` command in this process, from its entry point to its exit status."""

    def run(*arguments: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["assay", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return Said(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that need not fold what is in them, here and in other processes."""
    monkeypatch.setattr(console.output, "_width", 400)
    monkeypatch.setenv("COLUMNS", "400")


@pytest.fixture
def executable() -> Callable[..., Said]:
    """Runs the installed ``assay`` command in a process of its own."""
    command = Path(sys.executable).with_name("assay")

    def run(*arguments: str | Path, **environment: str) -> Said:
        result = subprocess.run(
            [command, *map(str, arguments)],
            capture_output=True,
            text=True,
            env=os.environ | environment,
            check=False,
        )
        return Said(result.returncode, result.stdout, result.stderr)

    return run
