"""The examination of a server: first its replies to moments of demonstrations, then a few episodes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TypeVar

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.policies.probe.fields import (
    GRIPPER,
    ORIENTATION,
    SIZE,
    STATE,
    WAIT,
    Field,
    Options,
    combined,
    replan_field,
)
from assay.policies.probe.moments import DemonstratedStep, moments
from assay.policies.probe.race import Entry, Refused, catch_up, race
from assay.policies.probe.server import Server

R = TypeVar("R")

ACROSS = 0.5
"""The score of actions that have nothing to do with the demonstrator's."""
SURE, LIKELY = math.log(100.0), math.log(3.0)
"""Evidence, as logarithms, from which on something is called so."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to look."""

    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    """From which the demonstrations and the episodes start."""
    pack: str
    moments: int = 100
    """The most moments that each convention is asked about."""
    episodes: int = 8
    """The most episodes of each convention; 0 leaves them out."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What was found out about one field of the convention."""

    field: str
    chosen: Options
    score: float
    """Mean, in [0, 1]: agreement with the demonstrator, or the rate of success."""
    rival: Options | None
    """The best of the other alternatives that the server takes."""
    rival_score: float
    evidence: float
    """Logarithm of the factor by which a bet on the chosen one, against the rival, has grown.

    No probability of being wrong: who is bet on was chosen by the same rounds, among all contenders.
    """
    refused: Mapping[str, str]
    """Alternatives that the server does not take, and what it says."""
    rounds: int
    """How many moments or episodes this rests on."""

    @property
    def verdict(self) -> str:
        """In a word: sure, likely, open, or indifferent, where two alternatives do exactly the same."""
        if self.rival is None or self.evidence >= SURE:
            return "sure"
        if self.evidence >= LIKELY:
            return "likely"
        return "indifferent" if self.score == self.rival_score else "open"


@dataclass(frozen=True, slots=True)
class Examination:
    """What an examination of a server found."""

    address: str
    """The address to use."""
    settled: tuple[Settled, ...]
    agreement: float
    """How well its first actions agree with the demonstrator's, in [0, 1]; 0.5 is by chance."""
    given_agreement: float
    """The same by the address that was given."""
    solved: tuple[int, int] | None
    """Episodes solved by that address, of how many; None if none were played."""
    given_solved: tuple[int, int] | None
    """The same by the address that was given, where that is another."""
    asked: int
    """Requests to the server, without those of episodes."""
    metadata: Mapping[str, object]
    """What the server says of itself."""

    @property
    def understood(self) -> bool:
        """Whether the server's actions have anything to do with the demonstrator's."""
        return self.agreement > ACROSS + 0.1


def examine(
    address: str,
    plan: Plan,
    *,
    shown: Sequence[DemonstratedStep] | None = None,
    say: Callable[[str], None] = lambda progress: None,
) -> Examination:
    """Find the convention of the server at an address. Options that the address sets are kept.

    ``shown``: moments of demonstrations, where somebody has recorded them already.

    Raises PolicyError where there is no such server, or it takes none of the conventions that are known.
    """
    search = _Search(Server(address), say)
    server = search.server
    if shown is None:
        say("watching demonstrations")
        shown = moments(plan.tasks, plan.seeds, plan.pack, plan.moments)
    given = search.found = _first_taken(server, shown[0])
    states = () if server.usual.state is None else (STATE,)
    search.settle((ORIENTATION, *states), shown, server.direction, "image orientation and state")
    search.settle((SIZE,), shown, server.direction, "image size")
    pointing = search.found
    search.settle(
        (GRIPPER,), shown, lambda options, moment: server.grip(options, pointing, moment), "gripper"
    )
    compared = shown[: max(entry.rounds for entry in search.settled)] if search.settled else shown
    agreement, before = (_agreement(server, options, compared) for options in (pointing, given))
    counts: dict[str, tuple[int, int]] = {}
    if plan.episodes:
        chunk = len(server.reply(pointing, shown[0]))
        if server.convention(search.found).replan is None:  # all of them: said in numbers, to be compared
            search.found = {**search.found, "replan": str(chunk)}
        entries = search.try_out((replan_field(chunk), WAIT), given, _specs(plan), server.success, "episodes")
        counts = {
            server.address(entry.what): (int(sum(entry.scores)), len(entry.scores))
            for entry in entries
            if entry.scores
        }
    return Examination(
        address=server.address(search.found),
        settled=tuple(search.settled),
        agreement=agreement,
        given_agreement=before,
        solved=counts.get(server.address(search.found)),
        given_solved=counts.get(server.address(given)),
        asked=server.asked,
        metadata=server.metadata,
    )


class _Search:
    """What was found so far, field by field."""

    def __init__(self, server: Server, say: Callable[[str], None]) -> None:
        self.server, self.say = server, say
        self.found: Options = {}
        self.settled: list[Settled] = []

    def settle(
        self, fields: Sequence[Field], rounds: Sequence[R], score: Callable[[Options, R], float], what: str
    ) -> None:
        """Race all combinations of some fields, and keep the best."""
        asked = self._open(fields)
        self._race(asked, [{**self.found, **each} for each in combined(asked)], rounds, score, what)

    def try_out(
        self,
        fields: Sequence[Field],
        given: Options,
        rounds: Sequence[R],
        score: Callable[[Options, R], float],
        what: str,
    ) -> list[Entry[Options]]:
        """Race what was found against changes of one field at a time, and against what was given."""
        asked = self._open(fields)
        changes = (alternative for field in asked for alternative in field.alternatives[1:])
        contenders = [dict(self.found), *({**self.found, **change} for change in changes)]
        if self.server.address(given) != self.server.address(self.found):
            contenders.append(dict(given))
        return self._race(asked, contenders, rounds, score, what)

    def _open(self, fields: Sequence[Field]) -> list[Field]:
        """Those that the user has not settled, with what was found, or is usual, first."""
        now = self.server.convention(self.found)
        return [field.usual_first(now) for field in fields if not field.options & set(self.server.given)]

    def _race(
        self,
        fields: Sequence[Field],
        contenders: Sequence[Options],
        rounds: Sequence[R],
        score: Callable[[Options, R], float],
        what: str,
    ) -> list[Entry[Options]]:
        def tell(racing: int) -> None:
            self.say(f"{what}: {racing} of {len(contenders)} left")

        entries = race(contenders, rounds, score, on_round=tell)
        if not entries[0].scores:
            raise PolicyError(f"{self.server.place}: {entries[0].refused}")
        self.found = entries[0].what
        for field in fields:
            self.say(f"{what}: how sure")
            for rival in _rivals(field, entries):
                catch_up(rival, entries[0], rounds, score, SURE)
            self.settled.append(_settled(field, entries))
        return entries


def _of(field: Field, entry: Entry[Options]) -> dict[str, str]:
    """The options of a field that an entry sets."""
    return {name: entry.what[name] for name in sorted(field.options) if name in entry.what}


def _others(field: Field, entries: Sequence[Entry[Options]]) -> list[Entry[Options]]:
    """Those that have another alternative of a field than the winner."""
    mine = _of(field, entries[0])
    return [entry for entry in entries[1:] if _of(field, entry) and _of(field, entry) != mine]


def _rivals(field: Field, entries: Sequence[Entry[Options]]) -> list[Entry[Options]]:
    """The best of each other alternative of a field."""
    best: dict[str, Entry[Options]] = {}
    for entry in _others(field, entries):
        if entry.scores and not entry.refused:
            alternative = written(_of(field, entry))
            best[alternative] = max(best.get(alternative, entry), entry, key=lambda each: each.mean)
    return list(best.values())


def _settled(field: Field, entries: Sequence[Entry[Options]]) -> Settled:
    """What a race says about one field: the winner against the best that has another alternative there."""
    best, rivals = entries[0], _rivals(field, entries)
    rival = min(rivals, key=best.ahead_of, default=None)
    answered = [_of(field, entry) for entry in (best, *rivals)]
    refused = [entry for entry in _others(field, entries) if _of(field, entry) not in answered]
    return Settled(
        field=field.name,
        chosen=_of(field, best),
        score=best.mean,
        rival=None if rival is None else _of(field, rival),
        rival_score=0.0 if rival is None else rival.mean,
        evidence=math.inf if rival is None else best.ahead_of(rival),
        refused={written(_of(field, entry)): entry.refused for entry in refused},
        rounds=len(best.scores),
    )


def written(options: Options) -> str:
    """Options as they stand in an address."""
    return "&".join(f"{name}={value}" for name, value in options.items())


def _first_taken(server: Server, moment: DemonstratedStep) -> Options:
    """The first options to which the server replies at all: the usual ones, or other sizes and states."""
    complaint = ""
    for size, state in product(*(field.usual_first(server.usual).alternatives for field in (SIZE, STATE))):
        options = (
            {} if not complaint else {k: v for k, v in {**size, **state}.items() if k not in server.given}
        )
        try:
            server.reply(options, moment)
            return options
        except Refused as reason:
            complaint = complaint or str(reason)
    raise PolicyError(
        f"{server.place}: it takes none of the conventions that are known; at first: {complaint}"
    )


def _agreement(server: Server, options: Options, shown: Sequence[DemonstratedStep]) -> float:
    """Mean over moments; what the server refuses agrees with nobody."""
    scores = [0.0] * len(shown)
    for number, moment in enumerate(shown):
        with contextlib.suppress(Refused):
            scores[number] = server.direction(options, moment)
    return sum(scores) / len(scores)


def _specs(plan: Plan) -> list[EpisodeSpec]:
    """Episodes, task by task from one seed after the other."""
    return [
        EpisodeSpec(task, seed, plan.pack)
        for seed, task in islice(product(plan.seeds, plan.tasks), plan.episodes)
    ]
