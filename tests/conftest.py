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

# Tables and images are small and all cores are busy, so additional threads would only wait for each other.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("LP_NUM_THREADS", "0")

import pytest
from hypothesis import settings
from tests.forked import Forked

from assay import tasks
from assay.cli.app import main
from assay.episodes import EpisodeSpec
from assay.errors import RenderingError
from assay.runs.executor import EpisodeRunner, WorkerConfig
from assay.sim import gl
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.packs.libero import LiberoPack
from assay.sim.packs.locate import LIBERO_VARIABLE, ROBOSUITE_VARIABLE
from assay.sim.packs.pack import AssetPack
from assay.sim.simulation import Simulation
from assay.support import console
from assay.support.files import CACHE_VARIABLE
from assay.tasks import Scene

# Every test allocates models and images: keep their memory instead of returning it to the system each time.
KEPT = 1 << 29
if sys.platform == "linux":
    for variable, option in (("MALLOC_TRIM_THRESHOLD_", -1), ("MALLOC_MMAP_THRESHOLD_", -3)):
        os.environ.setdefault(variable, str(KEPT))  # for child processes
        with suppress(AttributeError):  # the C library is not glibc
            ctypes.CDLL(None).mallopt(option, KEPT)

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Tests must use neither the user's cache nor one from an earlier run.
_cache = tempfile.mkdtemp(prefix="assay-cache-")
os.environ[CACHE_VARIABLE] = _cache


def _cache_of_its_own(folder: Path) -> None:
    os.environ[CACHE_VARIABLE] = str(folder / "cache")


def pytest_unconfigure() -> None:
    """Remove the cache; forked processes exit without calling this hook."""
    shutil.rmtree(_cache, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option ``--jobs``."""
    parser.addoption("--jobs", type=int, default=1, help="number of processes that run tests")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of extensions; run tests in several processes if requested."""
    config.addinivalue_line("markers", "extensions(*names): skip if one of them, by default any, was deleted")
    if (jobs := config.getoption("jobs")) > 1:
        config.pluginmanager.register(Forked(jobs, _cache_of_its_own))


MANY = 1_000
"""Number of tests above which common preparations are worth doing before processes are forked."""
LONGEST = (
    "test_planted_flaws.py",
    "test_on_ray.py",
    "test_examples.py",
    "test_browser.py",
    "test_calibration.py",
    "test_driver.py",
    "test_plugins.py",
)
"""Files that take longest; they run first, so that all processes finish at about the same time."""

_FOLDER = Path(__file__).parents[1] / "src" / "assay" / "extensions"
EXTENSIONS = ("dropin", "eqa", "generate", "interop", "learn", "papers", "paraphrasing", "probe", "tabletop")
"""Extensions that examples, documentation and fuzzers use together."""

_SHARED = Path(os.environ.get("ASSAY_SHARED", Path(__file__).parents[2] / "shared"))


def _load_loops() -> None:
    """Run part of an episode, so that inner loops are compiled once and not in each forked process."""
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
    """Exempt modules and tests from garbage collection, which saves a tenth of the time."""
    if session.config.getoption("jobs") > 1 and len(session.items) > MANY:
        _load_loops()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with reference data; tests that need it are skipped if it is absent."""
    if not (_SHARED / "libero" / "bddl").is_dir():
        pytest.skip(f"no reference data at {_SHARED} (set ASSAY_SHARED)")
    return _SHARED


@pytest.fixture(scope="session")
def reference(shared: Path) -> Path:
    """The folder with recordings from LIBERO."""
    return shared / "libero" / "reference"


@pytest.fixture(scope="session")
def primitives() -> AssetPack:
    """The asset pack that ships with Assay."""
    return AssetPack()


@pytest.fixture(scope="session")
def libero(shared: Path) -> LiberoPack:
    """LIBERO's own assets."""
    return LiberoPack(shared / "libero" / "assets", shared / "libero" / "robosuite_assets")


def _compile_once(pack: AssetPack) -> Callable[[str], CompiledScene]:
    """Return a function that compiles the scene of a built-in task, once per scene."""

    @cache
    def once(scene: Scene) -> CompiledScene:
        return compile_scene(scene, pack)

    return lambda task_id: once(tasks.load(task_id).scene)


@pytest.fixture(scope="session")
def compiled(primitives: AssetPack) -> Callable[[str], CompiledScene]:
    """Function that compiles the scene of a built-in task with the pack of primitives."""
    return _compile_once(primitives)


@pytest.fixture(scope="session")
def compiled_libero(libero: LiberoPack) -> Callable[[str], CompiledScene]:
    """Function that compiles the scene of a built-in task with LIBERO's assets."""
    return _compile_once(libero)


@pytest.fixture
def world_of() -> Iterator[Callable[[CompiledScene], Simulation]]:
    """Function that returns simulations, which are closed at the end of the test."""
    worlds: list[Simulation] = []

    def made(scene: CompiledScene) -> Simulation:
        worlds.append(Simulation(scene))
        return worlds[-1]

    yield made
    for world in worlds:
        world.close()


@pytest.fixture(scope="session")
def drawing() -> str:
    """The rendering backend; tests that render are skipped if there is none."""
    try:
        return gl.backend()
    except RenderingError as error:
        pytest.skip(str(error))


@pytest.fixture
def no_assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hide the configured location of LIBERO's assets; return the new configuration folder."""
    monkeypatch.delenv(LIBERO_VARIABLE, raising=False)
    monkeypatch.delenv(ROBOSUITE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


@dataclass(frozen=True)
class Said:
    """Exit status and output of a command."""

    status: int
    out: str
    err: str


@pytest.fixture
def assay(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Function that runs the ``assay`` command in this process."""

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
    """Make the terminal so wide that tables are not wrapped, here and in child processes."""
    monkeypatch.setattr(console.output, "_width", 400)
    monkeypatch.setenv("COLUMNS", "400")


@pytest.fixture
def executable() -> Callable[..., Said]:
    """Function that runs the installed ``assay`` command in a separate process."""
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
