"""Search for a server's convention, based first on its replies to demonstrated steps, then on a few episodes.

Alternatives are raced: they are scored round by round, and poor ones are eliminated early.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Generic, TypeVar
from urllib.parse import parse_qsl, urlencode

import numpy as np

from assay.episodes import EpisodeSpec, Instruction, Outcome, rollout
from assay.errors import PolicyError
from assay.policies.control import control
from assay.policies.oracle.policy import Oracle
from assay.policies.remote.client import RemotePolicy, load_client
from assay.policies.remote.convention import ADJUSTABLE, Convention, Gripper, Layout, Rotation, Sign
from assay.policies.remote.transport import RemoteError
from assay.sim import Observation
from assay.support.images import Orientation
from assay.support.stats.betting import evidence
from assay.support.streams import stream

T = TypeVar("T")
R = TypeVar("R")
Options = Mapping[str, str]
"""Options of an address, such as ``{"layout": "hand", "rotation": "xyzw"}``."""

COMPARED_STEPS = 5
"""Number of the demonstrator's next actions that are compared; they span a quarter of a second."""
ERROR_PROBABILITY = 0.01
"""Upper bound on the probability that the best contender is eliminated by evidence (rather than by halving)."""
HALVING_ROUNDS, MIN_SURVIVORS = 6, 4
"""Successive halving: after every 6 rounds the worse half is eliminated, down to 4 contenders."""
SCORE_DIGITS = 6
"""Number of decimals to which score differences are rounded; a difference of 0 is a draw."""
PREFERENCE = math.log(3.0)
"""Minimum log evidence for preferring another contender to the first one, which is the default."""
MIN_GRIPPER = {Gripper.SIGNED: -np.inf, Gripper.UNIT: -0.25}
"""Gripper convention -> lower limit of plausible gripper components."""
MIN_TRANSLATION = 0.3
"""Minimum length of the mean translation, in action units, for which the demonstrator counts as moving."""


class RequestRefusedError(Exception):
    """Raised when the server or its protocol rejects a convention; the message is the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class DemonstratedStep:
    """An observation from a demonstration, with the demonstrator's next actions."""

    spec: EpisodeSpec
    instruction: Instruction
    observation: Observation
    actions: np.ndarray
    """The demonstrator's next actions, (COMPARED_STEPS, 7), within [-1, 1]."""


def options_of(convention: Convention) -> dict[str, str]:
    """Return the options of an address that set a convention."""
    return {
        name: str(int(value) if isinstance(value, Sign) else value)
        for name in ADJUSTABLE
        if (value := getattr(convention, name)) is not None
    }


class ProbedServer:
    """A policy server under examination."""

    def __init__(self, address: str) -> None:
        self.place, _, query = address.partition("?")
        self.fixed: Options = dict(parse_qsl(query))
        """Options set by the user, which are not searched."""
        client = load_client(address)
        client.connect()
        self.default: Convention = client.convention
        """The convention that the server uses if no further options are set."""
        client.close()
        self._replies: dict[tuple[str, int], np.ndarray | RequestRefusedError] = {}
        self.requests = 0

    def address(self, options: Options) -> str:
        """Return the address with the given options, omitting those with default values."""
        default = options_of(self.default)
        changed = {name: value for name, value in options.items() if default.get(name) != value}
        query = urlencode({**self.fixed, **changed}, safe=",")
        return f"{self.place}?{query}" if query else self.place

    def convention(self, options: Options) -> Convention:
        """Return the convention set by options, given the parameters that the server declares."""
        return self.default.adjusted(self._client(options).address.adjusted)

    def reply(self, options: Options, step: DemonstratedStep) -> np.ndarray:
        """Return the server's reply to a step, (k, 7), cached. Raises RequestRefusedError if the server rejects it."""
        key = (self.address(options), id(step))
        if key not in self._replies:
            try:
                with contextlib.closing(self._client(options)) as client:
                    self.requests += 1
                    client.reset(step.instruction, step.spec)
                    self._replies[key] = client.reply(step.observation)
            except RemoteError as error:  # also if the protocol cannot express the options
                if error.transient:
                    raise
                self._replies[key] = RequestRefusedError(error.reason)
        reply = self._replies[key]
        if isinstance(reply, RequestRefusedError):
            raise reply
        return reply

    def direction_score(self, options: Options, step: DemonstratedStep) -> float:
        """Return the first actions' agreement with the demonstrator's: 0 opposite, 0.5 orthogonal, 1 identical."""
        predicted = np.clip(self.reply(options, step)[:COMPARED_STEPS, :6], -1.0, 1.0).ravel()
        shown = step.actions[:, :6].ravel()[: len(predicted)]
        lengths = float(np.linalg.norm(predicted) * np.linalg.norm(shown))
        cosine = float(predicted @ shown) / lengths if lengths > 1e-9 else 0.0
        return (cosine + 1.0) / 2.0

    def success_score(self, options: Options, spec: EpisodeSpec) -> float:
        """Return 1 if an episode succeeds, otherwise 0. Raises RequestRefusedError if the server rejects a request."""
        with contextlib.closing(self._client(options)) as client:
            episode = rollout(control(spec), client, spec)
        if episode.outcome is Outcome.ERROR:
            raise (PolicyError if episode.transient else RequestRefusedError)(episode.error)
        return float(episode.outcome is Outcome.SUCCESS)

    def _client(self, options: Options) -> RemotePolicy:
        return load_client(f"{self.place}?{urlencode({**self.fixed, **options}, safe=',')}")


@dataclass(eq=False)
class Contender(Generic[T]):
    """One alternative in a race, and its scores."""

    value: T
    scores: list[float]
    """Scores in [0, 1], one per round until the contender was eliminated."""
    refused: str = ""
    """Reason why the server rejected the contender; empty if it was not rejected."""
    is_eliminated: bool = False

    @property
    def mean(self) -> float:
        """Mean score; -1 if there are no scores."""
        return float(np.mean(self.scores)) if self.scores else -1.0

    @property
    def is_racing(self) -> bool:
        """Whether the contender has been neither rejected nor eliminated."""
        return not self.refused and not self.is_eliminated

    def ahead_of(self, other: Contender[T]) -> float:
        """Return the log evidence that this contender wins more of the shared rounds than another.

        Only the sign of a score difference counts, so that small but consistent differences are detected.
        """
        if other.refused:
            return math.inf
        shared = min(len(self.scores), len(other.scores))
        return evidence(np.sign(np.subtract(self.scores[:shared], other.scores[:shared]).round(SCORE_DIGITS)))

    def play(self, item: R, score: Callable[[T, R], float]) -> None:
        """Score one round, or store the server's reason for rejecting the request."""
        try:
            self.scores.append(score(self.value, item))
        except RequestRefusedError as reason:
            self.refused = str(reason)


def race(
    values: Sequence[T],
    rounds: Iterable[R],
    score: Callable[[T, R], float],
    *,
    on_round: Callable[[int], None] = lambda racing: None,
) -> list[Contender[T]]:
    """Race ``values`` (the first is the default) until one is left or the rounds end; return the best first.

    ``score`` returns a number in [0, 1], or raises RequestRefusedError. ``on_round`` receives the number of remaining
    values.
    """
    contenders = [Contender(value, []) for value in values]
    # Bonferroni: each of the others may seem to beat the best contender by chance.
    threshold = math.log(len(contenders) / ERROR_PROBABILITY)
    for number, item in enumerate(rounds, 1):
        racing = [contender for contender in contenders if contender.is_racing]
        if len(racing) < 2 and any(contender.scores for contender in racing):
            break
        for contender in racing:
            contender.play(item, score)
        leader = _leader(contenders)
        for contender in contenders:
            if contender is not leader and contender.is_racing and leader.ahead_of(contender) > threshold:
                contender.is_eliminated = True
        if number % HALVING_ROUNDS == 0:
            left = sorted(
                (contender for contender in contenders if contender.is_racing),
                key=lambda contender: -contender.mean,
            )
            for contender in left[max(MIN_SURVIVORS, len(left) // 2) :]:
                contender.is_eliminated |= contender is not leader
        on_round(sum(contender.is_racing for contender in contenders))
    best = _leader(contenders)
    return [best, *(contender for contender in contenders if contender is not best)]


def _leader(contenders: Sequence[Contender[T]]) -> Contender[T]:
    """Return the best contender so far: the default, unless another is ahead by at least `PREFERENCE`."""
    racing = [contender for contender in contenders if contender.is_racing] or list(contenders)
    best = max(racing, key=lambda contender: contender.mean)  # the first of equals
    default = contenders[0]
    return default if default.is_racing and best.ahead_of(default) < PREFERENCE else best


CHANCE_SCORE = 0.5
"""Score of actions that are unrelated to those of the demonstrator."""
SURE, LIKELY = math.log(100.0), math.log(3.0)
"""Minimum log evidence for the verdicts ``sure`` and ``likely``."""


@dataclass(frozen=True, slots=True)
class ConventionField:
    """A field of a convention and its possible values, each given as options of an address."""

    name: str
    alternatives: tuple[Options, ...]

    @property
    def options(self) -> frozenset[str]:
        """Names of the options that the field sets."""
        return frozenset(name for alternative in self.alternatives for name in alternative)

    def with_first(self, convention: Convention) -> ConventionField:
        """Return the field with its alternatives reordered so that a convention's own alternative comes first."""
        present = options_of(convention)
        listed = next(
            (alternative for alternative in self.alternatives if alternative.items() <= present.items()), None
        )
        first = listed or {name: present[name] for name in sorted(self.options)}
        others = (alternative for alternative in self.alternatives if alternative != listed)
        return replace(self, alternatives=(first, *others))

    def select(self, contender: Contender[Options]) -> dict[str, str]:
        """Return those options of a contender that set this field."""
        return {name: contender.value[name] for name in sorted(self.options) if name in contender.value}


def _field(name: str, *alternatives: Mapping[str, object]) -> ConventionField:
    as_text = ({key: str(value) for key, value in alternative.items()} for alternative in alternatives)
    return ConventionField(name, tuple(as_text))


ORIENTATION = _field("image orientation", *({"orientation": orientation} for orientation in Orientation))
STATE = _field(
    "state",
    *({"layout": Layout.END_EFFECTOR, "rotation": rotation} for rotation in Rotation),
    {"layout": Layout.FINGERS_FIRST, "rotation": Rotation.XYZW},
    {"layout": Layout.JOINTS},
    {"layout": Layout.NONE},
)
SIZE = _field("image size", {"size": 224}, {"size": 256}, {"size": 128})
GRIPPER = _field("gripper", *({"gripper": kind, "closes": int(sign)} for kind in Gripper for sign in Sign))
WAIT = _field("wait", {"wait": 10}, {"wait": 0})


@dataclass(frozen=True, slots=True)
class FieldVerdict:
    """The result for one field of the convention."""

    field: str
    """Name of the field, such as ``image size``."""
    chosen: Options
    """Options of the best alternative."""
    score: float
    """Mean score of the chosen alternative, in [0, 1]: agreement with the demonstrator, or success rate."""
    rival: Options | None
    """The best of the other alternatives that the server accepts; None if it accepts no other."""
    rival_score: float
    """Mean score of the rival, in [0, 1]; 0 if none exists."""
    evidence: float
    """Log evidence that the chosen alternative beats the rival (the logarithm of a betting score).

    It overstates the certainty, because the chosen alternative was selected in the same rounds.
    """
    refused: Mapping[str, str]
    """Alternatives rejected by the server, each with the reason."""
    rounds: int
    """Number of steps or episodes that were compared."""

    @property
    def verdict(self) -> str:
        """``sure``, ``likely``, ``open``, or ``indifferent`` if two alternatives have the same score."""
        if self.rival is None or self.evidence >= SURE:
            return "sure"
        if self.evidence >= LIKELY:
            return "likely"
        return "indifferent" if self.score == self.rival_score else "open"


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """The result of an examination."""

    address: str
    """The address to use."""
    verdicts: tuple[FieldVerdict, ...]
    agreement: float
    """Agreement of the server's first actions with the demonstrator's, in [0, 1]; 0.5 is chance level."""
    agreement_as_given: float
    """Agreement when the original address is used, in [0, 1]."""
    solved: tuple[int, int] | None
    """Number of episodes solved and number of episodes run with this address; None if none was run."""
    requests: int
    """Number of requests to the server, excluding those made during episodes."""

    @property
    def understood(self) -> bool:
        """Whether the server's actions are related to the demonstrator's."""
        return self.agreement > CHANCE_SCORE + 0.1


def examine(
    server: ProbedServer,
    steps: Sequence[DemonstratedStep],
    specs: Sequence[EpisodeSpec] = (),
    *,
    say: Callable[[str], None] = lambda progress: None,
) -> ProbeReport:
    """Find the convention of a server from demonstrated ``steps``, and its timing from episodes with ``specs``.

    Options set in the address are not searched. Raises PolicyError if the server accepts none of the known conventions.
    """
    original = _first_accepted(server, steps[0])
    search = _Search(server, say, original)
    states = () if server.default.state is None else (STATE,)
    search.settle((ORIENTATION, *states), steps, server.direction_score, "image orientation and state")
    search.settle((SIZE,), steps, server.direction_score, "image size")
    request = search.best

    def score_gripper(options: Options, step: DemonstratedStep) -> float:
        """Return the fraction of the first actions whose gripper component agrees with the demonstrator's."""
        convention, raw = server.convention(options), server.reply(request, step)[:COMPARED_STEPS]
        decoded = convention.adjusted({"replan": None, "binary": False}).decode_actions(raw)
        agrees = np.sign(decoded[:, 6]) == np.sign(step.actions[: len(raw), 6])
        return float(np.mean(agrees & (raw[:, 6] > MIN_GRIPPER[convention.gripper])))

    search.settle((GRIPPER,), steps, score_gripper, "gripper")
    compared = steps[: max(verdict.rounds for verdict in search.verdicts)] if search.verdicts else steps
    agreement, before = (_agreement(server, options, compared) for options in (request, original))
    solved = None
    if specs:
        chunk = len(server.reply(request, steps[0]))
        if server.convention(search.best).replan is None:  # all actions: as a number, to be comparable
            search.best = {**search.best, "replan": str(chunk)}
        lengths = (length for length in sorted({1, 5, max(chunk // 2, 1), chunk}) if length <= chunk)
        replan = _field("replan", *({"replan": length} for length in lengths))
        best = search.settle((replan, WAIT), specs, server.success_score, "episodes", singly=True)
        solved = int(sum(best.scores)), len(best.scores)
    return ProbeReport(
        address=server.address(search.best),
        verdicts=tuple(search.verdicts),
        agreement=agreement,
        agreement_as_given=before,
        solved=solved,
        requests=server.requests,
    )


def demonstrate(tasks: Sequence[str], seeds: Sequence[int], pack: str, count: int) -> list[DemonstratedStep]:
    """Return at most ``count`` steps at which the oracle moves, spread evenly over tasks and seeds, in random order.

    Raises PolicyError if the oracle solves none of the tasks.
    """
    per_episode = -(-count // max(len(tasks) * len(seeds), 1))
    steps: list[DemonstratedStep] = []
    for task, seed in product(tasks, seeds):
        observations: list[Observation] = []
        spec = EpisodeSpec(task, seed, pack)
        env = control(spec)
        episode = rollout(env, Oracle(), spec, watch=observations.append)
        actions = np.clip(episode.trajectory.actions, -1.0, 1.0)
        moving = [
            DemonstratedStep(spec, env.task.instruction, observations[step], ahead)
            for step in range(len(actions) - COMPARED_STEPS)
            if np.linalg.norm((ahead := actions[step : step + COMPARED_STEPS])[:, :3].mean(axis=0))
            > MIN_TRANSLATION
        ]
        if moving and episode.outcome is Outcome.SUCCESS:  # as far apart as possible
            places = np.unique(np.linspace(0, len(moving) - 1, per_episode).round().astype(int))
            steps += [moving[place] for place in places]
    if not steps:
        raise PolicyError(f"no demonstrations: the oracle solves none of {', '.join(tasks)} with these seeds")
    order = stream("probe", "moments", *tasks).permutation(len(steps))
    return [steps[number] for number in order[:count]]


class _Search:
    """A search that determines the best options field by field."""

    def __init__(self, server: ProbedServer, say: Callable[[str], None], best: Options) -> None:
        self.server, self.say, self.best = server, say, best
        self.verdicts: list[FieldVerdict] = []

    def settle(
        self,
        fields: Sequence[ConventionField],
        rounds: Sequence[R],
        score: Callable[[Options, R], float],
        topic: str,
        *,
        singly: bool = False,
    ) -> Contender[Options]:
        """Race all combinations of values of the fields that the user has not set, and return the best.

        With ``singly``, only one field at a time is changed from the best options, because episodes are expensive.
        """
        present = self.server.convention(self.best)
        fields = [field.with_first(present) for field in fields if not field.options & set(self.server.fixed)]
        options: list[Options] = []
        if singly:
            changes = (alternative for field in fields for alternative in field.alternatives[1:])
            options += [dict(self.best), *({**self.best, **change} for change in changes)]
        else:
            for chosen in product(*(field.alternatives for field in fields)):
                changed = {name: value for alternative in chosen for name, value in alternative.items()}
                options.append({**self.best, **changed})
        contenders = race(
            options,
            rounds,
            score,
            on_round=lambda racing: self.say(f"{topic}: {racing} of {len(options)} left"),
        )
        if not contenders[0].scores:
            raise PolicyError(f"{self.server.place}: {contenders[0].refused}")
        self.best = contenders[0].value
        self.say(f"{topic}: evidence")
        self.verdicts += [_judge(field, contenders, rounds, score) for field in fields]
        return contenders[0]


def _judge(
    field: ConventionField,
    contenders: Sequence[Contender[Options]],
    rounds: Sequence[R],
    score: Callable[[Options, R], float],
) -> FieldVerdict:
    """Compare the best contender with its strongest rival: the best of those that set a field differently.

    Rivals that were eliminated early are first scored in the rounds that they missed, until the evidence is sufficient.
    """
    best, chosen = contenders[0], field.select(contenders[0])
    rivals: dict[str, Contender[Options]] = {}
    refused: dict[str, str] = {}
    for contender in contenders[1:]:
        options = field.select(contender)
        name = format_options(options)
        if not options or options == chosen:
            continue
        if contender.refused or not contender.scores:
            refused[name] = contender.refused
        else:
            rivals[name] = max(rivals.get(name, contender), contender, key=lambda rival: rival.mean)
    for other in rivals.values():
        for item in rounds[len(other.scores) : len(best.scores)]:
            if not other.refused and best.ahead_of(other) < SURE:
                other.play(item, score)
    rival = min(rivals.values(), key=best.ahead_of) if rivals else None
    return FieldVerdict(
        field=field.name,
        chosen=chosen,
        score=best.mean,
        rival=None if rival is None else field.select(rival),
        rival_score=0.0 if rival is None else rival.mean,
        evidence=math.inf if rival is None else best.ahead_of(rival),
        refused={name: reason for name, reason in refused.items() if name not in rivals},
        rounds=len(best.scores),
    )


def format_options(options: Options) -> str:
    """Format options as the query of an address."""
    return "&".join(f"{name}={value}" for name, value in options.items())


def _first_accepted(server: ProbedServer, step: DemonstratedStep) -> Options:
    """Return the first options that the server accepts: the defaults, or other image sizes and states."""
    complaint = ""
    fields = (field.with_first(server.default) for field in (SIZE, STATE))
    for size, state in product(*(field.alternatives for field in fields)):
        options = {**size, **state} if complaint else {}
        options = {name: value for name, value in options.items() if name not in server.fixed}
        try:
            server.reply(options, step)
            return options
        except RequestRefusedError as reason:
            complaint = complaint or str(reason)
    raise PolicyError(f"{server.place} accepts none of the known conventions; first error: {complaint}")


def _agreement(server: ProbedServer, options: Options, steps: Sequence[DemonstratedStep]) -> float:
    """Return the mean agreement over steps; a rejected request scores 0."""
    scores = [0.0] * len(steps)
    for number, step in enumerate(steps):
        with contextlib.suppress(RequestRefusedError):
            scores[number] = server.direction_score(options, step)
    return sum(scores) / len(scores)
