from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.errors import PolicyError, RunError
from assay.experiments import load_experiment
from assay.runs import on_ray
from assay.runs.driver import Ending, drive
from assay.runs.executor import Executor, WorkerConfig
from assay.runs.local import LocalProcesses
from assay.runs.on_ray import RayActors
from assay.runs.store import Store

pytest.importorskip("ray", reason="needs the package 'ray': pip install 'assay-robotics[ray]'")

SHORT = list(load_experiment("libero").plan(tasks.resolve("libero_goal/0,libero_goal/7"), range(6), steps=15))
STUCK = WorkerConfig("python:getting_stuck:GettingStuck")
Facts = dict[str, tuple[object, ...]]

GETTING_STUCK = """
import os
import time
from pathlib import Path

import ray

from assay.policies.simple import Random

FOLDER = Path(__file__).parent
NODE = (FOLDER / "node").read_text()
BEGUN, STUCK = FOLDER / "begun", FOLDER / "stuck"


class GettingStuck(Random):
    "Random, but for the first process on the node that comes to its third episode: it stays there."

    def __init__(self):
        self.episodes = 0

    def reset(self, instruction, spec):
        super().reset(instruction, spec)
        with BEGUN.open("a") as begun:
            begun.write(f"{os.getpid()}\\n")
        self.episodes += 1
        if self.episodes < 3:
            return
        if not STUCK.exists() and ray.get_runtime_context().get_node_id() == NODE:
            STUCK.write_text(str(os.getpid()))
            time.sleep(60)
        while not STUCK.exists():
            time.sleep(0.05)
"""


@pytest.fixture(scope="module", autouse=True)
def lean() -> Iterator[None]:
    """The cluster of the tests is set up as a Ray of our own: it sends no statistics, and its workers are not niced."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in on_ray.LEAN.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="module")
def cluster():
    """A Ray cluster on this machine: its first node has one CPU."""
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 1,
            "object_store_memory": on_ray.STORE_MEMORY,
            "include_dashboard": False,
        },
    )
    yield made
    made.shutdown()


@pytest.fixture
def perform(tmp_path: Path, facts: Callable[[Store], Facts]):
    """Drives a plan into a new run, or goes on with it; returns how it ended and what happened."""

    def performed(plan: list[EpisodeSpec], executor: Executor, **more: object) -> tuple[Ending, Facts]:
        with Store.writing(tmp_path / "run.assay") as store:
            store.plan(plan)
            ending = drive(store, executor, **more)  # type: ignore[arg-type]
            assert store.done == len(facts(store)), "an episode is there twice"
            return ending, facts(store)

    return performed


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The short plan, performed by one local process."""
    path = tmp_path_factory.mktemp("undisturbed") / "run.assay"
    with Store.writing(path) as store:
        store.plan(SHORT)
        assert drive(store, LocalProcesses(WorkerConfig("random"), 1)).left == 0
    return path


@pytest.fixture
def expected(undisturbed: Path, facts: Callable[[Store], Facts]) -> Facts:
    with Store.reading(undisturbed) as store:
        return facts(store)


LOOKING = """
import os
from pathlib import Path

from assay.policies.simple import Random


class Looking(Random):
    "Random, and writes down what it sees of the environment."

    def __init__(self):
        seen = dict(os.environ), Path("/proc/self/environ").read_text(errors="replace")
        (Path(__file__).parent / "seen").write_text(str(seen))
"""


@pytest.mark.parametrize("where", ["local", "cluster"])
def test_ray_gives_the_episodes_of_local_processes_and_gets_no_keys(
    perform, expected: Facts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request, where: str
):
    address = where if where == "local" else request.getfixturevalue("cluster").address
    (tmp_path / "looking.py").write_text(LOOKING)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("ASSAY_LLM_KEY", "AWS_SECRET_ACCESS_KEY", "SOMETHING_ELSE"):
        monkeypatch.setenv(name, "sesame")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    executor = RayActors(WorkerConfig("python:looking:Looking"), address, 2 if where == "local" else 1)
    assert perform(SHORT, executor) == (Ending(len(SHORT), 0), expected)
    seen = (tmp_path / "seen").read_text()
    assert "ASSAY_CACHE" in seen and "sesame" not in seen
    assert os.environ["ASSAY_LLM_KEY"] == "sesame"


@pytest.fixture
def disturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, perform):
    """Performs the short plan, and does something when a process on a node is in the middle of an episode."""

    def performed(executor: RayActors, node: str, disturb: Callable[[int], None]) -> tuple[Ending, Facts]:
        (tmp_path / "getting_stuck.py").write_text(GETTING_STUCK)
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "node").write_text(node)
        stuck, begun = tmp_path / "stuck", tmp_path / "begun"
        disturbed: list[int] = []

        def watch(spec: EpisodeSpec | None, episode: object) -> None:
            if not disturbed and stuck.exists() and (process := stuck.read_text()):
                disturbed.append(int(process))
                disturb(*disturbed)

        result = perform(SHORT, executor, watch=watch)
        processes = begun.read_text().split()
        assert len(processes) == len(SHORT) + 1, "only the episode that was lost is performed again"
        assert int(processes[-1]) != disturbed[0]
        return result

    return performed


def test_node_may_join_a_run_and_be_lost(
    disturbed, cluster, expected: Facts, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(on_ray, "CPU_COUNT_INTERVAL_S", 0.5)
    executor = RayActors(STUCK, cluster.address)
    assert executor.workers == 1
    node = cluster.add_node(num_cpus=1, object_store_memory=on_ray.STORE_MEMORY)

    def lose(process: int) -> None:
        cluster.remove_node(node, allow_graceful=False)

    assert disturbed(executor, node.node_id, lose) == (Ending(len(SHORT), 0), expected)
    assert executor.workers == 2


def test_run_survives_the_killing_of_an_actor(disturbed, cluster, expected: Facts):
    executor = RayActors(STUCK, cluster.address, 1)

    def kill(process: int) -> None:
        os.kill(process, signal.SIGKILL)

    assert disturbed(executor, cluster.head_node.node_id, kill) == (Ending(len(SHORT), 0), expected)


def test_stopped_run_is_resumed(perform, cluster, expected: Facts):
    done: list[EpisodeSpec] = []

    def watch(spec: EpisodeSpec | None, episode: object) -> None:
        if spec is not None:
            done.append(spec)

    executor = RayActors(WorkerConfig("random"), cluster.address, 1)
    ending, some = perform(SHORT, executor, watch=watch, stopping=lambda: len(done) >= 2)
    assert 2 <= ending.done <= 4 and ending.left == len(SHORT) - ending.done
    assert some.items() <= expected.items()
    ending, all_of_them = perform(SHORT, executor)
    assert ending.left == 0 and all_of_them == expected


def test_unusable_policies_clusters_and_installations_are_refused(
    perform, cluster, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(PolicyError, match=r"^there is no policy 'orcale': did you mean 'oracle'\?[^\n]*$"):
        perform(SHORT, RayActors(WorkerConfig("orcale"), cluster.address, 1))
    monkeypatch.setattr(on_ray, "PLACEMENT_TIMEOUT_S", 0.0)
    with pytest.raises(RunError, match=r"no worker was placed within 0 s; \d of \d CPUs are free$"):
        perform(SHORT, RayActors(WorkerConfig("random"), cluster.address, 1))
    with pytest.raises(RunError, match=r"^--ray localhost:9: [^\n]*refused"):
        RayActors(WorkerConfig("random"), "localhost:9")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RunError, match=r"pip install 'assay-robotics\[ray\]'$"):
        RayActors(WorkerConfig("random"), "local")
