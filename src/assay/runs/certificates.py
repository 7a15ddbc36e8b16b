"""Certificates: the demonstrator's result for each scene and goal, cached across runs.

A *claim* states that an episode can be solved: it is the episode's spec, reduced to what affects solvability. The
demonstrator attempts claims that have no certificate yet, the *cache* holds a user's certificates in one file, and a
plan admits only certified episodes.
"""

from __future__ import annotations

import hashlib
import sqlite3
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import assay
from assay.episodes import (
    WORLDS,
    Episode,
    EpisodeSpec,
    Outcome,
    Perturbation,
    horizon,
    task_of,
    world_name,
)
from assay.errors import PerturbationError, RunError
from assay.experiments.reference_times import ReferenceTimes, apply_time_limit
from assay.runs.driver import Ending, Watch, drive
from assay.runs.executor import Executor
from assay.runs.store import Store
from assay.sim.bare_mujoco import MUJOCO_VERSION
from assay.support.files import CACHE_VARIABLE, KeyValues, cache_folder, digest_of
from assay.support.plugins import import_object, plugins_of, registered_addresses

CLAIM = "certificate"
"""Experiment and condition of all claims."""
HORIZON_FACTOR = 2
"""Time limit for the demonstrator, as a multiple of the task's horizon; `refusal` applies the episode's own limit."""
REFUSED = "refused"
"""Key of the refused episodes in a run's meta table."""
UNKNOWN = "no certificate: the demonstrator's worker died"
"""Reason for refusing an episode that has no certificate."""


def claim(spec: EpisodeSpec, disturbed: int = 0) -> EpisodeSpec:
    """Return the claim that an episode can be solved, as a spec for the demonstrator; many episodes share a claim.

    Everything that cannot affect solvability is left out: instructions with the same goal, sensor and appearance
    changes, experiment names, latency, and the policy's seed if the start is fixed. If an instruction requests
    a goal other than the one that defines success, the claim is about the requested goal. If there is nothing to
    solve (the target was removed), the claim is about the scene alone and takes one step.

    ``disturbed``: number of disturbances to add, to measure how reliably the scene can be solved.
    """
    certified = [(change, change.certified_as()) for change in spec.perturbations]
    own = [change for change, other in certified if other is change]
    replaced = [other for change, other in certified if other is not None and other is not change]
    # A changed goal comes last: the scene is perturbed with the task's own goal in mind.
    perturbations = (*own, *replaced[-1:])
    is_solvable = all(perturbation.plausible for perturbation in perturbations)
    if disturbed:
        disturbance = import_object(registered_addresses("disturbance")[world_name(spec.task)])
        perturbations += (disturbance,) * disturbed
    return replace(
        spec,
        seed=spec.world_seed,
        start=None,
        experiment=CLAIM,
        condition=CLAIM,
        perturbations=perturbations,
        steps=HORIZON_FACTOR * horizon(replace(spec, steps=None)) if is_solvable else 1,
        replan=None,
        latency=0,
        while_waiting="play",
        labels={},
    )


@lru_cache(maxsize=4096)
def wording_conflict(task: str, pack: str, perturbations: tuple[Perturbation, ...]) -> str:
    """Return why changes to instruction or appearance, which claims omit, cannot be applied; empty if they can.

    The answer depends only on the goal, the arena and the objects, not on the seed or on positions.
    """
    relevant = (
        perturbation
        for perturbation in perturbations
        if perturbation.sets_vocabulary or not perturbation.decides
    )
    try:
        task_of(EpisodeSpec(task, 0, pack, perturbations=tuple(relevant)))
    except PerturbationError as error:
        return str(error)
    return ""


class ClaimVerdict(StrEnum):
    """The verdict on a claim."""

    SOLVED = "solved"
    NOTHING = "nothing to solve"
    """The layout is stable, and the task is unsolvable by design."""
    UNPLACED = "cannot be placed"
    """A perturbation cannot be applied, or objects could not be placed or did not settle."""
    FAILED = "demonstrator failed"
    TRIVIAL = "true at the start"
    """The goal holds before the first action."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The demonstrator's result for a claim."""

    verdict: ClaimVerdict
    steps: int = 0
    """Number of control steps until the goal was reached; 0 if it was not."""
    why: str = ""
    """Explanation of a negative verdict."""


def judge(spec: EpisodeSpec, episode: Episode) -> Certificate:
    """Return the certificate for a claim, based on the demonstrator's episode."""
    if not len(episode.trajectory.end_effector):  # the episode could not be started
        return Certificate(ClaimVerdict.UNPLACED, why=episode.error)
    is_solvable = all(perturbation.plausible for perturbation in spec.perturbations)
    if not is_solvable and episode.outcome is Outcome.FAILURE:
        return Certificate(ClaimVerdict.NOTHING)
    if episode.truth and all(spans and spans[0][0] == 0 for spans in episode.truth.values()):
        return Certificate(ClaimVerdict.TRIVIAL)
    missed = [event["event"] for event in episode.events if event["step"] is None]
    if episode.outcome is Outcome.SUCCESS and missed:
        return Certificate(ClaimVerdict.FAILED, why=f"solved before this event: {', '.join(missed)}")
    if episode.outcome is Outcome.SUCCESS:
        return Certificate(ClaimVerdict.SOLVED, episode.steps)
    return Certificate(ClaimVerdict.FAILED, why=episode.error or f"goal not reached in {horizon(spec)} steps")


def refusal(spec: EpisodeSpec, certificate: Certificate | None) -> str:
    """Return the reason why an episode must not be run; empty if it may be run."""
    if certificate is None:
        return UNKNOWN
    if certificate.verdict not in (ClaimVerdict.SOLVED, ClaimVerdict.NOTHING):
        return ": ".join(filter(None, (certificate.verdict, certificate.why)))
    if why := wording_conflict(spec.task, spec.pack, spec.perturbations):
        return f"{ClaimVerdict.UNPLACED}: {why}"
    if certificate.steps > horizon(spec):
        return f"too slow: the oracle needs more than {horizon(spec)} steps"
    return ""


SOURCES = (
    "support/streams.py",
    "support/jit.py",
    "support/plugins.py",
    "episodes",
    "tasks",
    "sim",
    "perturb/world",
    "perturb/events.py",
    "perturb/unavailable.py",
    "perturb/words/rewordings",
    "perturb/words/text.py",
    "perturb/senses",
    "policies/oracle",
    "policies/simple.py",
    "runs/certificates.py",
)
"""Files and folders of the package that affect the demonstrator's rollout; perturbations of plugins also do."""


@cache
def engine_digest(world: str, pack: str) -> str:
    """Return a digest (12 hexadecimal digits) of all that affects the demonstrator's rollout, except the spec."""
    place = WORLDS[world]
    foreign = " ".join(plugin.digest for plugin in plugins_of([place]))
    own = sources_digest(Path(assay.__file__).parent)
    parts = (MUJOCO_VERSION, pack, place.digest(pack), own, foreign)
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:12]


def sources_digest(root: Path) -> str:
    """Return a digest of the sources in a copy of the package that affect the demonstrator's rollout."""
    modules = sorted(registered_addresses("perturbations").values())
    extensions = (f"{module.partition('.')[2].replace('.', '/')}.py" for module in modules)
    places = (root / source for source in (*SOURCES, *extensions))
    files = (file for place in places for file in (sorted(place.rglob("*")) if place.is_dir() else [place]))
    return digest_of((file for file in files if file.is_file() and file.suffix in (".py", ".yaml")), root)


class CertificateCache(AbstractContextManager["CertificateCache"]):
    """Certificates, keyed by a hash of the claim, the content of its task, and the digest of the code (engine)."""

    def __init__(self, file: Path | None = None, states: str = "") -> None:
        """Open the file with the user's certificates, or another ``file``.

        ``states``: digest of the stored initial states, for claims that start from them.
        """
        self.file = file or cache_folder() / "certificates.sqlite"
        self._states = states
        self._contents: dict[str, str] = {}
        """Digests of tasks by id, kept only while the cache is open, because a task's file may change later."""
        try:
            self._rows = KeyValues(self.file, "certificates", ("key",), ("verdict", "steps", "why"))
        except (sqlite3.Error, OSError) as error:
            raise RunError(
                f"{self.file}: not a certificate file ({error}); delete it, or set {CACHE_VARIABLE} "
                "to another folder"
            ) from None

    def get(self, claim: EpisodeSpec) -> Certificate | None:
        """Return the certificate for a claim, or None if none exists."""
        row = self._rows.get(self._key(claim))
        if row is None:
            return None
        try:
            return Certificate(ClaimVerdict(row[0]), row[1], row[2])
        except ValueError:
            raise RunError(
                f"{self.file}: damaged: a certificate has the verdict {row[0]!r:.60}; delete the file"
            ) from None

    def add(self, claim: EpisodeSpec, certificate: Certificate) -> None:
        """Store a certificate."""
        self._rows.put(self._key(claim), str(certificate.verdict), certificate.steps, certificate.why)

    def _key(self, claim: EpisodeSpec) -> str:
        plugins = " ".join(plugin.digest for plugin in plugins_of(claim.perturbations))
        engine = engine_digest(world_name(claim.task), claim.pack)
        states = self._states if claim.initial == "stored" else ""
        if claim.task not in self._contents:
            task = repr(task_of(EpisodeSpec(claim.task, 0))).encode()
            self._contents[claim.task] = hashlib.sha256(task).hexdigest()[:32]
        content = f"{engine} {plugins} {states} {self._contents[claim.task]} {claim.to_json()}"
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def __exit__(self, *error: object) -> None:
        self._rows.close()


def claims(specs: Iterable[EpisodeSpec], tries: int = 1) -> Iterator[EpisodeSpec]:
    """Yield every distinct claim about the episodes and their controls, with 0 to ``tries`` - 1 disturbances."""
    seen: set[str] = set()
    for spec in specs:
        for episode in (spec.control(), spec):
            for disturbed in range(tries):
                wanted = claim(episode, disturbed)
                if wanted.key not in seen:
                    seen.add(wanted.key)
                    yield wanted


def certify(
    wanted: Sequence[EpisodeSpec],
    cache: CertificateCache,
    executor: Executor,
    *,
    stopping: Callable[[], bool] = lambda: False,
    watch: Watch = lambda spec, episode: None,
) -> Ending:
    """Run the demonstrator on claims, storing each certificate as soon as it is issued.

    ``executor`` must execute the demonstrator. If a worker dies, the claim that it was executing gets no certificate,
    and is executed again by the next command.
    """

    def keep(spec: EpisodeSpec | None, episode: Episode | None) -> None:
        if spec is not None and episode is not None and episode.seconds > 0:  # 0 where a worker died
            cache.add(spec, judge(spec, episode))
        watch(spec, episode)

    with Store.scratch() as store:
        store.plan(wanted)
        return drive(store, executor, stopping=stopping, watch=keep)


class Refusal(NamedTuple):
    """An episode excluded from a plan."""

    condition: str
    task: str
    seed: int
    reason: str


def admit(
    specs: Iterable[EpisodeSpec],
    cache: CertificateCache,
    limit: float | None = None,
    reference: ReferenceTimes | None = None,
) -> tuple[list[EpisodeSpec], list[Refusal]]:
    """Return the certified episodes, with their time limits, and the refused ones.

    An episode is admitted only if both it and its control are certified, so that pairs are complete. ``limit`` and
    ``reference``: the experiment's time limit and human reference times; without the latter, the demonstrator's
    time is used.
    """
    admitted, refused = [], []
    for spec in specs:
        own = cache.get(claim(spec))
        control = own if not spec.perturbations else cache.get(claim(spec.control()))
        reason = refusal(spec, own)
        if not reason and (of_control := refusal(spec, control)):
            reason = f"its control is refused: {of_control}"
        if reason:
            refused.append(Refusal(spec.condition, spec.task, spec.seed, reason))
            continue
        assert own is not None and control is not None
        demonstrated = own.steps or control.steps
        time = demonstrated if reference is None else reference.of(spec.task)
        admitted.append(apply_time_limit(spec, limit, time))
    return admitted, refused


def remember(store: Store, refused: Iterable[Refusal], specs: Iterable[EpisodeSpec]) -> None:
    """Store which of the given episodes were refused; refusals of other episodes are kept."""
    planned = {(spec.condition, spec.task, spec.seed) for spec in specs}
    others = [refusal for refusal in recall(store) if refusal[:3] not in planned]
    store.describe(**{REFUSED: [*others, *refused]})


def recall(store: Store) -> list[Refusal]:
    """Return the refused episodes of a run."""
    return [Refusal(*row) for row in store.meta.get(REFUSED, ())]


def count_reasons(refused: Iterable[Refusal]) -> dict[str, int]:
    """Return the reasons for refusals and their frequencies, most frequent first."""
    return dict(Counter(refusal.reason for refusal in refused).most_common())


@dataclass(slots=True)
class CertificateSummary:
    """Summary of a condition's certificates."""

    condition: str
    scenes: int = 0
    """Number of distinct claims: scene, goal and initial state."""
    certified: int = 0
    """Number of scenes that the demonstrator solved within the time limit."""
    nothing: int = 0
    """Number of stable scenes that are unsolvable by design."""
    steps: list[int] = field(default_factory=list)
    """Number of control steps that the demonstrator took in each solved scene."""
    refused: Counter[str] = field(default_factory=Counter)
    """Reasons for refusals, and their frequencies."""
    disturbed: int = 0
    """Number of further attempts in solved scenes, in which the arm was disturbed."""
    solved_again: int = 0
    """Number of successes among the disturbed attempts."""

    def count(self, spec: EpisodeSpec, cache: CertificateCache, tries: int) -> None:
        """Count the scene of an episode."""
        certificate = cache.get(claim(spec))
        self.scenes += 1
        if (reason := refusal(spec, certificate)) or certificate is None:
            self.refused[reason] += 1
        elif certificate.verdict is ClaimVerdict.NOTHING:
            self.nothing += 1
        else:
            self.certified += 1
            self.steps.append(certificate.steps)
            for disturbed in range(1, tries):
                again = cache.get(claim(spec, disturbed))
                self.disturbed += again is not None
                self.solved_again += not refusal(spec, again)

    @property
    def median(self) -> float | None:
        """Median number of the demonstrator's control steps."""
        return statistics.median(self.steps) if self.steps else None

    @property
    def to_solve(self) -> int:
        """Number of scenes that are solvable by design."""
        return self.scenes - self.nothing

    def as_json(self) -> dict[str, object]:
        """Return the summary as a JSON object."""
        return {
            "condition": self.condition,
            "scenes": self.scenes,
            "certified": self.certified,
            "nothing_to_solve": self.nothing,
            "refused": dict(self.refused.most_common()),
            "median_steps": self.median,
            "disturbed": self.disturbed,
            "solved_again": self.solved_again,
        }


def summarise(
    specs: Iterable[EpisodeSpec], cache: CertificateCache, tries: int = 1
) -> list[CertificateSummary]:
    """Return a summary of each condition, in order, and finally a summary of all distinct scenes, named "all"."""
    summaries: dict[str, CertificateSummary] = {}
    seen: set[tuple[str, str]] = set()
    total = CertificateSummary("all")
    for spec in specs:
        wanted, own = claim(spec), CertificateSummary(spec.condition)
        for summary in (summaries.setdefault(spec.condition, own), total):
            if (summary.condition, wanted.key) not in seen:
                seen.add((summary.condition, wanted.key))
                summary.count(spec, cache, tries)
    return [*summaries.values(), total]
