"""The proof of the instrument: the diagnosis names the flaw that was planted in a policy, and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

from assay import tasks
from assay.episodes import EpisodeSpec, task_of
from assay.experiments import load_experiment
from assay.measures.diagnosis import diagnose
from assay.measures.failure.near_far import NearFarFailures
from assay.measures.findings import Finding, Verdict
from assay.measures.flaws import Degree, Flaw
from assay.measures.measure import Profile, profile
from assay.measures.memory.memorisation import Memorisation
from assay.measures.world.curves import Onset
from assay.runs.executor import EpisodeRunner, WorkerConfig
from assay.runs.store import Store
from assay.tasks import Rectangle, Task

SCENES = {
    "libero_object/1": {"cream_cheese_1": (0.03, -0.06), "alphabet_soup_1": (0.12, -0.15)},
    "libero_object/8": {"chocolate_pudding_1": (-0.11, -0.06), "alphabet_soup_1": (-0.20, -0.15)},
}
"""Two tasks about a thing that goes into the basket, and where it and one other thing stand instead of seven, metres.

Few things are quickly simulated, and so is a short way to the basket. The other thing is nearer to where the first one
stood than that is when it is displaced, and nearer to its colour than that is in any other. Starts differ little, and
less than the two tasks do, so that a few successes tell what is near to the path of success.
"""
SEEDS = range(4)
"""Eight starts: an exact test can come to 2 ** -8, and what is tested together is eight things."""
STEPS = 100
"""The oracle needs 100 at most."""
PRO = {"control": 4, "pro/displace=0.2": 4, "pro/object=colour": 4, "pro/words=xxx": 2}
"""Conditions, and how many seeds of each."""
PARA = {"habitual": 0, "coordination": 1, "need": 2, "embedded": 3}
"""Ways to say what to do, and the seed of each: so that who misses every other time has five successes in each task."""
FEWER = ("habitual", "need")
"""Those of them that suffice for a policy whose flaw has nothing to do with words and does not come and go."""
PLANTED = {
    "oracle": Flaw.NOTHING,
    "replay": Flaw.MEMORISES,
    "blind": Flaw.IGNORES_WORDS,
    "keyword": Flaw.UNKNOWN_NAMES,
    "clumsy": Flaw.MISSES,
    "nearest": Flaw.POSITION,
    "colour": Flaw.APPEARANCE,
}


@dataclass(frozen=True)
class Examined:
    """A policy's run and what is said about it."""

    profile: Profile
    findings: tuple[Finding, ...]

    @property
    def found(self) -> dict[str, Finding]:
        """What was found."""
        return {each.flaw: each for each in self.findings if each.verdict is Verdict.FOUND}


def around(x: float, y: float) -> Rectangle:
    """As much room as LIBERO gives a thing."""
    return Rectangle(x - 0.025, y - 0.025, x + 0.025, y + 0.025)


def cleared(id: str, places: Mapping[str, tuple[float, float]]) -> Task:
    """A task with no things but those and the basket."""
    task = tasks.load(id)
    scene = task.scene
    named = (*places, "basket_1")
    initial = tuple(atom for atom in scene.initial if atom.arguments[0] in named)
    stands = {atom.arguments[1]: places.get(atom.arguments[0]) for atom in initial}
    regions = tuple(
        replace(region, rectangles=(around(*place),)) if (place := stands.get(region.full_name)) else region
        for region in scene.regions
    )
    objects = tuple(each for each in scene.objects if each.name in named)
    assert len(objects) == len(named)
    return replace(task, scene=replace(scene, objects=objects, regions=regions, initial=initial))


def episodes() -> Iterator[EpisodeSpec]:
    """Of the experiments pro and para as few conditions as can tell the flaws apart."""
    chosen = [
        tasks.save(cleared(id, places), f"few_{id.replace('/', '_')}.json") for id, places in SCENES.items()
    ]
    for spec in load_experiment("pro").plan(chosen, SEEDS, steps=STEPS):
        if spec.seed < PRO.get(spec.condition, 0):
            yield spec
    named = {
        task.id: [next(iter(places)), "basket_1"]
        for task, places in zip(chosen, SCENES.values(), strict=True)
    }
    taken = set()
    for spec in load_experiment("para?per_cell=4").plan(chosen, SEEDS, steps=STEPS):
        cell = (spec.task, spec.condition)
        wanted = cell not in taken and PARA.get(str(spec.labels.get("action"))) == spec.seed
        if wanted and spec.labels["object"] in ("none", "habitual"):
            text = task_of(spec).instruction.text
            kept = all(name.removesuffix("_1").replace("_", " ") in text for name in named[spec.task])
            if kept == (spec.labels["object"] == "none"):  # a "hand basket" is still a basket
                taken.add(cell)
                yield spec


def _in_few_words(spec: EpisodeSpec) -> bool:
    return spec.labels.get("action", FEWER[0]) in FEWER


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[EpisodeSpec]]:
    """The plan, in the folder of its task files: what is drawn hangs on their paths, which are the same each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("runs"))
        yield list(episodes())


@pytest.fixture(scope="module")
def examined(planned: list[EpisodeSpec]) -> Callable[[str], Examined]:
    """Runs a policy, once, and diagnoses it."""

    @cache
    def done(policy: str) -> Examined:
        stage = EpisodeRunner(WorkerConfig(policy))
        with Store.writing(Path(f"{policy}.assay")) as run:
            run.plan(each for each in planned if policy in ("keyword", "clumsy") or _in_few_words(each))
            for waiting in sorted(run.todo(), key=lambda each: each.scene):
                (spec,) = run.specs([waiting.number])
                run.append(waiting.number, stage.run(spec))
            found = profile(run)
        stage.close()
        return Examined(found, diagnose(found))

    return done


@pytest.mark.parametrize("policy", PLANTED)
def test_the_planted_flaw_is_found_and_no_other(examined: Callable[[str], Examined], policy: str):
    run = examined(policy)
    assert run.profile.errors == {}
    assert list(run.found) == [PLANTED[policy]], run.found


def test_replay_remembers_and_the_oracle_does_not(examined: Callable[[str], Examined]):
    index = {
        policy: examined(policy).profile["memorisation"]
        for policy in ("oracle", "replay", "blind", "nearest")
    }
    assert all(isinstance(each, Memorisation) and each.overall.count >= 8 for each in index.values())
    assert index["replay"].overall.index > 0.9 and index["replay"].overall.interval.low > 0.5
    assert index["oracle"].overall.index == 0.0
    axes = {policy: {each.group: each.index for each in found.axes} for policy, found in index.items()}
    assert axes["replay"] == {"world": 1.0, "words": 1.0}
    assert axes["blind"] == {"world": 0.0, "words": 1.0}
    assert axes["nearest"] == {"world": 0.0, "words": 0.0}


def test_what_follows_from_a_flaw_is_explained_and_not_found(examined: Callable[[str], Examined]):
    verdicts = {each.flaw: each.verdict for each in examined("replay").findings}
    assert verdicts[Flaw.POSITION] is Verdict.EXPLAINED and verdicts[Flaw.IGNORES_WORDS] is Verdict.EXPLAINED
    assert verdicts[Flaw.CAMERA] is Verdict.CANNOT_TELL


def test_findings_have_the_numbers(examined: Callable[[str], Examined]):
    names = examined("keyword").found[Flaw.UNKNOWN_NAMES]
    first = names.evidence[0]
    assert names.degree is Degree.MOSTLY
    assert (first.hits, first.count, first.reference_hits, first.reference_count) == (0, 8, 8, 8)
    position = examined("nearest").found[Flaw.POSITION]
    assert (position.evidence[0].hits, position.evidence[0].count) == (0, 8)
    assert isinstance(position.detail, Onset) and position.detail.lost[0].distance == 0.2
    assert examined("clumsy").found[Flaw.MISSES].evidence[0].measure == "failures"


def test_who_misses_fails_near_the_path_of_success(examined: Callable[[str], Examined]):
    found = examined("clumsy").profile["failures"]
    assert isinstance(found, NearFarFailures) and found.unjudged == 0
    assert found.near["max"] == found.failures >= 8 and found.far["max"] == 0
