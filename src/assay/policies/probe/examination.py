"""The search for a server's convention: first by its replies to demonstrated steps, then by a few episodes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import TypeVar

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.policies.probe.race import Contender, RefusedError, catch_up, race
from assay.policies.probe.server import (
    DemonstratedStep,
    Options,
    ProbedServer,
    demonstrated_steps,
    options_of,
)
from assay.policies.remote.convention import Convention, Gripper, Layout, Rotation, Sign
from assay.support.images import Orientation

R = TypeVar("R")

CHANCE_SCORE = 0.5
"""The score of actions that are unrelated to the demonstrator's."""
SURE, LIKELY = math.log(100.0), math.log(3.0)
"""Logarithms of the evidence from which on a verdict is sure or likely."""


@dataclass(frozen=True, slots=True)
class ConventionField:
    """A part of a convention and its alternatives, as options of an address."""

    name: str
    alternatives: tuple[Options, ...]

    @property
    def options(self) -> frozenset[str]:
        """The options that it sets."""
        return frozenset(name for alternative in self.alternatives for name in alternative)

    def with_first(self, convention: Convention) -> ConventionField:
        """The field with the present alternative of a convention as the first."""
        present = options_of(convention)
        listed = next(
            (alternative for alternative in self.alternatives if alternative.items() <= present.items()), None
        )
        first = listed or {name: present[name] for name in sorted(self.options)}
        others = (alternative for alternative in self.alternatives if alternative != listed)
        return replace(self, alternatives=(first, *others))

    def select(self, contender: Contender[Options]) -> dict[str, str]:
        """The options of this field that a contender sets."""
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
class ProbePlan:
    """The extent of an examination."""

    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    """Of the demonstrations and the episodes."""
    pack: str
    moments: int = 100
    """The most demonstrated steps per convention."""
    episodes: int = 8
    """The most episodes per convention; 0 for none."""


@dataclass(frozen=True, slots=True)
class FieldVerdict:
    """The result for one field of the convention."""

    field: str
    chosen: Options
    score: float
    """Mean, in [0, 1]: agreement with the demonstrator, or the success rate."""
    rival: Options | None
    """The best of the other alternatives that the server accepts."""
    rival_score: float
    evidence: float
    """Logarithm of the factor by which a bet on the chosen one, against the rival, has grown.

    Not a probability of error: the one to bet on was chosen by the same rounds, among all contenders.
    """
    refused: Mapping[str, str]
    """Alternatives that the server rejects, and its reasons."""
    rounds: int
    """Number of steps or episodes."""

    @property
    def verdict(self) -> str:
        """``sure``, ``likely``, ``open``, or ``indifferent`` if two alternatives have the same score."""
        if self.rival is None or self.evidence >= SURE:
            return "sure"
        if self.evidence >= LIKELY:
            return "likely"
        return "indifferent" if self.score == self.rival_score else "open"


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of an examination."""

    address: str
    """The address to use."""
    verdicts: tuple[FieldVerdict, ...]
    agreement: float
    """Agreement of its first actions with the demonstrator's, in [0, 1]; 0.5 is chance."""
    agreement_as_given: float
    """The same for the original address."""
    solved: tuple[int, int] | None
    """Episodes solved with this address, and their number; None if none were played."""
    solved_as_given: tuple[int, int] | None
    """The same for the original address, if it differs."""
    requests: int
    """To the server, without those of episodes."""
    metadata: Mapping[str, object]
    """What the server reports about itself."""

    @property
    def understood(self) -> bool:
        """Whether the server's actions are related to the demonstrator's."""
        return self.agreement > CHANCE_SCORE + 0.1


def examine(
    address: str,
    plan: ProbePlan,
    *,
    steps: Sequence[DemonstratedStep] | None = None,
    say: Callable[[str], None] = lambda progress: None,
) -> ProbeResult:
    """Find the convention of the server at an address. Options that the address sets are not searched.

    ``steps``: recorded demonstrations, if there are any. Raises PolicyError if there is no such server, or it accepts
    none of the known conventions.
    """
    server = ProbedServer(address)
    if steps is None:
        say("recording demonstrations")
        steps = demonstrated_steps(plan.tasks, plan.seeds, plan.pack, plan.moments)
    original = _first_accepted(server, steps[0])
    search = _Search(server, say, original)
    states = () if server.default.state is None else (STATE,)
    search.settle((ORIENTATION, *states), steps, server.direction_score, "image orientation and state")
    search.settle((SIZE,), steps, server.direction_score, "image size")
    request = search.best
    search.settle(
        (GRIPPER,), steps, lambda options, step: server.gripper_score(options, request, step), "gripper"
    )
    compared = steps[: max(verdict.rounds for verdict in search.verdicts)] if search.verdicts else steps
    agreement, before = (_agreement(server, options, compared) for options in (request, original))
    counts: dict[str, tuple[int, int]] = {}
    if plan.episodes:
        chunk = len(server.reply(request, steps[0]))
        if server.convention(search.best).replan is None:  # all actions: as a number, to be comparable
            search.best = {**search.best, "replan": str(chunk)}
        specs = [
            EpisodeSpec(task, seed, plan.pack)
            for seed, task in islice(product(plan.seeds, plan.tasks), plan.episodes)
        ]
        lengths = (length for length in sorted({1, 5, max(chunk // 2, 1), chunk}) if length <= chunk)
        replan = _field("replan", *({"replan": length} for length in lengths))
        contenders = search.vary((replan, WAIT), original, specs, server.success_score, "episodes")
        counts = {
            server.address(contender.value): (int(sum(contender.scores)), len(contender.scores))
            for contender in contenders
            if contender.scores
        }
    return ProbeResult(
        address=server.address(search.best),
        verdicts=tuple(search.verdicts),
        agreement=agreement,
        agreement_as_given=before,
        solved=counts.get(server.address(search.best)),
        solved_as_given=counts.get(server.address(original)),
        requests=server.requests,
        metadata=server.metadata,
    )


class _Search:
    """The best options so far, field by field."""

    def __init__(self, server: ProbedServer, say: Callable[[str], None], best: Options) -> None:
        self.server, self.say, self.best = server, say, best
        self.verdicts: list[FieldVerdict] = []

    def settle(
        self,
        fields: Sequence[ConventionField],
        rounds: Sequence[R],
        score: Callable[[Options, R], float],
        topic: str,
    ) -> None:
        """Race all combinations of fields, and keep the best."""
        searched = self._searched(fields)
        combinations = product(*(field.alternatives for field in searched))
        contenders = [
            dict(self.best) | {name: value for options in chosen for name, value in options.items()}
            for chosen in combinations
        ]
        self._race(searched, contenders, rounds, score, topic)

    def vary(
        self,
        fields: Sequence[ConventionField],
        original: Options,
        rounds: Sequence[R],
        score: Callable[[Options, R], float],
        topic: str,
    ) -> list[Contender[Options]]:
        """Race the best options against changes of one field at a time, and against the original ones."""
        searched = self._searched(fields)
        changes = (alternative for field in searched for alternative in field.alternatives[1:])
        contenders = [dict(self.best), *({**self.best, **change} for change in changes)]
        if self.server.address(original) != self.server.address(self.best):
            contenders.append(dict(original))
        return self._race(searched, contenders, rounds, score, topic)

    def _searched(self, fields: Sequence[ConventionField]) -> list[ConventionField]:
        """The fields that the user has not set, with the present alternative first."""
        present = self.server.convention(self.best)
        return [field.with_first(present) for field in fields if not field.options & set(self.server.fixed)]

    def _race(
        self,
        fields: Sequence[ConventionField],
        options: Sequence[Options],
        rounds: Sequence[R],
        score: Callable[[Options, R], float],
        topic: str,
    ) -> list[Contender[Options]]:
        def report(racing: int) -> None:
            self.say(f"{topic}: {racing} of {len(options)} left")

        contenders = race(options, rounds, score, on_round=report)
        if not contenders[0].scores:
            raise PolicyError(f"{self.server.place}: {contenders[0].refused}")
        self.best = contenders[0].value
        for field in fields:
            self.say(f"{topic}: evidence")
            for rival in _rivals(field, contenders):
                catch_up(rival, contenders[0], rounds, score, SURE)
            self.verdicts.append(_judge(field, contenders))
        return contenders


def _others(field: ConventionField, contenders: Sequence[Contender[Options]]) -> list[Contender[Options]]:
    """The contenders with another alternative of a field than the best."""
    best = field.select(contenders[0])
    return [
        contender
        for contender in contenders[1:]
        if field.select(contender) and field.select(contender) != best
    ]


def _rivals(field: ConventionField, contenders: Sequence[Contender[Options]]) -> list[Contender[Options]]:
    """The best contender of each other alternative of a field."""
    best: dict[str, Contender[Options]] = {}
    for contender in _others(field, contenders):
        if contender.scores and not contender.refused:
            name = format_options(field.select(contender))
            best[name] = max(best.get(name, contender), contender, key=lambda rival: rival.mean)
    return list(best.values())


def _judge(field: ConventionField, contenders: Sequence[Contender[Options]]) -> FieldVerdict:
    """Compare the best contender with the best that has another alternative of a field."""
    best, rivals = contenders[0], _rivals(field, contenders)
    rival = min(rivals, key=best.ahead_of, default=None)
    accepted = [field.select(contender) for contender in (best, *rivals)]
    refused = [
        contender for contender in _others(field, contenders) if field.select(contender) not in accepted
    ]
    return FieldVerdict(
        field=field.name,
        chosen=field.select(best),
        score=best.mean,
        rival=None if rival is None else field.select(rival),
        rival_score=0.0 if rival is None else rival.mean,
        evidence=math.inf if rival is None else best.ahead_of(rival),
        refused={format_options(field.select(contender)): contender.refused for contender in refused},
        rounds=len(best.scores),
    )


def format_options(options: Options) -> str:
    """Options as written in an address."""
    return "&".join(f"{name}={value}" for name, value in options.items())


def _first_accepted(server: ProbedServer, step: DemonstratedStep) -> Options:
    """The first options to which the server replies: the defaults, or other image sizes and states."""
    complaint = ""
    fields = (field.with_first(server.default) for field in (SIZE, STATE))
    for size, state in product(*(field.alternatives for field in fields)):
        options = {**size, **state} if complaint else {}
        options = {name: value for name, value in options.items() if name not in server.fixed}
        try:
            server.reply(options, step)
            return options
        except RefusedError as reason:
            complaint = complaint or str(reason)
    raise PolicyError(f"{server.place}: accepts none of the known conventions; first error: {complaint}")


def _agreement(server: ProbedServer, options: Options, steps: Sequence[DemonstratedStep]) -> float:
    """Mean over steps; a rejected request scores 0."""
    scores = [0.0] * len(steps)
    for number, step in enumerate(steps):
        with contextlib.suppress(RefusedError):
            scores[number] = server.direction_score(options, step)
    return sum(scores) / len(scores)
