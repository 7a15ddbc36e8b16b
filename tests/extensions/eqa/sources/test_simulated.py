from __future__ import annotations

import numpy as np
import pytest

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.extensions.eqa.episode import SourceEpisode, Tally
from assay.extensions.eqa.sources import open_source
from assay.extensions.eqa.sources.simulated import DemoSource, feasible_tasks
from assay.runs.executor import EpisodeRunner, WorkerConfig
from assay.runs.store import Store


def test_a_scene_offers_every_feasible_task():
    texts = [task.instruction.text for task in feasible_tasks(tasks.load("libero_object/0"))]
    assert len(texts) == len(set(texts)) >= 5
    assert all(text.endswith("and place it in the basket") for text in texts)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[SourceEpisode, SourceEpisode, Tally]:
    """The same episode, from the demonstration and replayed from a run."""
    source = DemoSource(48, [("libero_goal/7", 3)])
    demonstrated = next(source.episodes(Tally()))
    path = tmp_path_factory.mktemp("runs") / "some.assay"
    stage = EpisodeRunner(WorkerConfig("oracle"))
    specs = [EpisodeSpec("libero_goal/7", 3), EpisodeSpec("libero_goal/7", 3, steps=4)]
    with Store.writing(path) as store:
        store.plan(specs)
        for waiting, spec in zip(store.todo(), specs, strict=True):
            store.append(waiting.number, stage.run(spec))
    stage.close()
    tally = Tally()
    (again,) = open_source(str(path), size=48).episodes(tally)
    return demonstrated, again, tally


def test_a_run_is_replayed_exactly(both: tuple[SourceEpisode, SourceEpisode, Tally]):
    demonstrated, again, tally = both
    assert np.array_equal(demonstrated.states, again.states)
    assert demonstrated.instruction == again.instruction == "turn on the stove"
    assert tally.counts == {"episodes found": 2, "episode: not successful": 1}
    assert (
        "turn on the stove" in demonstrated.achieved
        and "put the bowl on the stove" not in demonstrated.achieved
    )


def test_images_of_static_and_wrist_cameras_are_rendered(
    drawing: str, both: tuple[SourceEpisode, SourceEpisode, Tally]
):
    demonstrated, again, _ = both
    assert len(again.exocentric) == 4 and again.egocentric is not None
    shots = [camera.read([0, 40]) for camera in (*again.exocentric, again.egocentric)]
    assert all(first.shape == (48, 48, 3) and not np.array_equal(first, last) for first, last in shots)
    assert np.array_equal(demonstrated.exocentric[0].read([40])[0], shots[0][1])
