from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, Outcome
from assay.episodes.episode import Episode, Happened, no_trajectory
from assay.experiments import Experiment, Variant
from assay.perturb import Say
from assay.runs.driver import drive
from assay.runs.executor import InProcess, WorkerConfig
from assay.runs.store import Store

TASK = "libero_goal/7"
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">&amp; stove"
CELL = {"axis": "words", "plausible": True, "object": "habitual", "action": "hint", "pd": 0.4}


def variants(task: object) -> tuple[Variant, ...]:
    return (
        Variant("para/obj=habitual,act=hint", (Say("the burner is still cold"),), CELL),
        Variant("para/obj=habitual,act=hint", (Say(HOSTILE),), CELL | {"pd": 0.9}),
        Variant("words/other", (Say("put the bowl on the plate"),), {"axis": "words", "plausible": False}),
    )


SUITE = Experiment("para", "Three wordings.", variants=variants)


def driven(path: Path, policy: str, specs: list[EpisodeSpec], **orders: Any) -> Path:
    """Execute episodes and record them in a run file."""
    with Store.writing(path) as store:
        store.describe(
            experiment="para", policy=policy, pack="primitives", started="2026-01-02T03:04:05+00:00"
        )
        store.plan(specs)
        drive(store, InProcess(WorkerConfig(policy, **orders)))
    return path


def broken(path: Path, reason: str) -> Path:
    """Write a run whose only episode ended in an error."""
    with Store.writing(path) as store:
        store.plan([EpisodeSpec(TASK, 0)])
        told = f'  File "mine.py", line 7, in act\n{reason}'
        event = Happened(event="words/cancel at near(0.1)", due=7, step=9, told="stop")
        given: dict[str, Any] = {"error": reason, "traceback": told, "clipped": 3, "events": (event,)}
        store.append(1, Episode(Outcome.ERROR, 0, no_trajectory(), **given))
    return path


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs; another run is outside the folder."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "runs"
    (folder / "more").mkdir(parents=True)
    task = tasks.load(TASK)
    specs = list(SUITE.plan([task], [0], steps=150))
    driven(folder / "blind.assay", "blind", specs)
    driven(folder / "more" / "short ö#?.assay", "random", list(SUITE.plan([task], [0, 1], steps=8)))
    driven(folder / "idle.assay", "idle", [*specs[:1], *SUITE.plan([task], [5], steps=6)])
    broken(folder / "broken.assay", HOSTILE)
    shutil.copy(folder / "blind.assay", home / "outside.assay")
    (folder / "link.assay").symlink_to(home / "outside.assay")
    (folder / "text.assay").write_text("not a run")
    (folder / "cut.assay").write_bytes((folder / "blind.assay").read_bytes()[:9000])
    (folder / "folder.assay").mkdir()
    (folder / "secret.txt").write_text("secret")
    return folder


@contextmanager
def served(*arguments: str | Path) -> Iterator[str]:
    """Run a command that serves pages in a separate process; yield its host and port."""
    command = [Path(sys.executable).with_name("assay"), *arguments, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(180, process.kill)
    watchdog.start()
    assert process.stdout is not None
    said = process.stdout.readline()
    watchdog.cancel()
    yield said.split("http://")[1].split("/")[0]
    process.terminate()
    process.wait(60)


@pytest.fixture(scope="session")
def address(library: Path) -> Iterator[str]:
    """Host and port of ``assay ui``."""
    with served("ui", library) as found:
        yield found


class Answer(NamedTuple):
    """A response of the server."""

    status: int
    headers: dict[str, str]
    text: str


@pytest.fixture(scope="session")
def get(address: str) -> Callable[..., Answer]:
    """Return a function that requests a path from the server exactly as it is given."""

    def ask(path: str, method: str = "GET", **headers: str) -> Answer:
        connection = HTTPConnection(address, timeout=60)
        try:
            connection.putrequest(method, path, skip_host="Host" in headers)
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            response = connection.getresponse()
            text = response.read().decode(errors="replace")
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, text)
        finally:
            connection.close()

    return ask


@pytest.fixture(scope="session")
def keys(library: Path) -> dict[str, str]:
    """Keys of the episodes of the run ``blind``, by instruction."""
    with Store.reading(library / "blind.assay") as store:
        return dict(store.frame().select("instruction", "key").iter_rows())
