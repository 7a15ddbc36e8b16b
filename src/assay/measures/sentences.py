"""Findings as English sentences, each with a claim, its evidence and a caveat.

format_finding(finding).text      # "Ignores the instruction: in 10 of 10 episodes with a missing or ..."
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.episodes.perturbation import Change
from assay.measures.failure.starts import Ability
from assay.measures.findings import (
    Claim,
    Errors,
    Evidence,
    Fall,
    Finding,
    Shows,
    Unnoticed,
    Untested,
    Verdict,
)
from assay.measures.flaws import LACKING, Degree, Flaw
from assay.measures.measure import MEASURES, describe_flaw
from assay.measures.memory.memorisation import CalledBy, Calls
from assay.measures.result import attempt
from assay.measures.search import PatternKind
from assay.measures.views.wording import (
    between,
    describe_change,
    listed,
    natural,
    p_phrase,
    percent,
    plural,
    points,
)
from assay.measures.world.curves import Onset
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import SURE

_MAX_TASKS = 4
"""Maximum number of tasks listed by name."""
_MAX_CASES = 3
"""Maximum number of cases listed as evidence for a finding; further cases are only counted."""
_MAX_UNCERTAIN = 3
"""Maximum number of losses shown in the summary although they are not significant."""
FORMS: Mapping[str, str] = {
    "full_stop": "a final full stop",
    "capital": "a capital first letter",
    "capitals": "all capitals",
    "task": 'a leading "Task:"',
    "quotes": "quotation marks",
    "blanks": "doubled blanks",
    "please": 'a leading "please"',
}
"""Description of each variant of an instruction in which the words themselves are unchanged."""
_DEGREES = {
    Degree.MOSTLY: "",
    Degree.PARTLY: " (at least in part)",
    Degree.RARELY: " (in a minority of episodes)",
}
_NOT_ASKED = "whether it follows requests for something else was not tested (condition counterfactual)"
_NONSENSE = "with a missing or nonsense instruction"


@dataclass(frozen=True, slots=True)
class Sentence:
    """English sentence that states a finding."""

    claim: str
    evidence: str
    caveat: str = ""

    @property
    def text(self) -> str:
        """Claim, evidence and caveat as one sentence."""
        text = f"{self.claim}: {self.evidence}" if self.evidence else self.claim
        return f"{text}{f'; {self.caveat}' if self.caveat else ''}."


def format_finding(finding: Finding) -> Sentence:
    """Describe a finding in English."""
    if finding.flaw == Flaw.NOTHING:
        return _no_flaw(finding)
    flaw = describe_flaw(finding.flaw)
    claim, first = flaw.claim, finding.evidence[0] if finding.evidence else None
    is_nonsense = first is not None and (first.measure == "nonsense" or first.part == Calls.NONSENSE)
    if finding.flaw == Flaw.IGNORES_WORDS and is_nonsense:
        claim = "Performs the trained task without an instruction"  # which is a reasonable default
    if first is None or finding.claim is Claim.UNTESTED:
        return Sentence(f"{claim}? Not tested", _reason_untested(finding.untested))
    evidence, caveat = _describe_evidence(finding, first)
    match finding.claim:
        case Claim.TOO_FEW:
            at_floor = first.cost and not (first.reference or first.reference_hits)
            return Sentence(f"{claim}? {'No control succeeds' if at_floor else 'Too few starts'}", evidence)
        case Claim.NO_SIGN:
            return Sentence(f"{claim}? No significant evidence", evidence, caveat)
        case Claim.ABSENT:
            return Sentence(flaw.absent, evidence)
    if finding.flaw == Flaw.LOSS:
        fall = finding.detail
        if not isinstance(fall, Fall) or first.part:  # a single change, or a joint one
            return Sentence(claim, evidence, "no test identifies the flaw")
        unperturbed = format_counts(fall.control_hits, fall.control_count)
        evidence = (
            f"{format_counts(fall.hits, fall.count)} succeed under all changes, {unperturbed} unperturbed"
        )
        if fall.costly:
            return Sentence(claim, evidence, f"largest losses: {listed(fall.costly)}")
        if fall.alike_p is None:
            return Sentence(claim, evidence, "the responsible change cannot be identified")
        caveat = f"no change costs significantly more than another ({p_phrase(fall.alike_p)})"
        return Sentence("Declines equally under all changes", evidence, caveat)
    if finding.cause is not None:
        is_part = finding.cause == Flaw.LOSS
        caveat = "part of the general decline" if is_part else f"explained by: {lower_claim(finding.cause)}"
    tasks, where = "", finding.where
    if where is not None and where.uneven_p is not None and where.uneven_p < SURE:
        tasks = f"the loss differs between the {where.of} tasks ({p_phrase(where.uneven_p)})"
        if where.tasks:
            worst = sorted(where.tasks, key=lambda task: task.perturbed - task.control)
            rates = {
                task.task: f"{percent(task.control, 0)} to {percent(task.perturbed, 0)}" for task in worst
            }
            tasks = f"mainly in {_name_tasks(rates)}, out of {where.of} tasks"
    if finding.exploratory:
        claim += " (exploratory)"
        caveat = "; ".join(filter(None, (caveat, "found by search, to be confirmed with new seeds")))
    if finding.degree and abs(first.value) < 1 - 1e-9:  # a flaw in every episode needs no degree
        claim += _DEGREES[finding.degree]
    return Sentence(claim, evidence, "; ".join(filter(None, (caveat, tasks))))


def _name_tasks(tasks: Mapping[str, str]) -> str:
    """List the first tasks with a remark on each, and the number of remaining tasks."""
    names = [f"{task} ({remark})" for task, remark in list(tasks.items())[:_MAX_TASKS]]
    return listed(names + ([plural(len(tasks) - _MAX_TASKS, "other")] if len(tasks) > _MAX_TASKS else []))


def _reason_untested(untested: Untested | None) -> str:
    if untested is None:
        return "the runs have no episodes that test it"
    if untested.notes:  # the measure's own reason
        return "; ".join(untested.notes)
    if untested.too_few:
        return "too few controls succeed"
    return LACKING.get((untested.measure, untested.flaw)) or describe_flaw(untested.flaw).lacking


def _no_flaw(finding: Finding) -> Sentence:
    """Return the headline without a flaw: none was found, there are too few starts, or nothing could be tested."""
    detail = finding.detail
    if isinstance(detail, Unnoticed):
        claim, caveat = f"No flaw found among {detail.looked_for} tested", ""
        if detail.too_few:
            claim += f"; {plural(detail.too_few, 'further flaw')} cannot be tested with this number of starts"
        if detail.flaw is not None and detail.loss is not None:
            widest = f"95 % intervals; the widest: {lower_claim(detail.flaw)}"
            caveat = f"a loss of up to {100 * detail.loss:.0f} points cannot be excluded ({widest})"
        if detail.memory is not None:
            replays = f"memorised trajectories in up to {100 * detail.memory:.0f} % of episodes"
            caveat += f", nor can {replays}" if caveat else f"{replays} cannot be excluded (95 % interval)"
        return Sentence(claim, "", caveat)
    if isinstance(detail, Errors):
        share = f"{format_counts(detail.count, detail.done)} episodes ({percent(detail.count / detail.done)})"
        reason = (
            f"{share} ended in an error, which may hide failures, so no conclusion is drawn from the others"
        )
        advice = "fix the cause and repeat these episodes with --retry-errors"
        return Sentence("Too many errors", reason, advice)
    if not isinstance(detail, Fall):
        reason = "tests compare perturbed episodes with their controls, some of which must succeed"
        return Sentence(
            "No flaw could be tested",
            reason if finding.untested is None else _reason_untested(finding.untested),
        )
    before = format_counts(detail.control_hits, detail.control_count)
    after = format_counts(detail.hits, detail.count)
    is_drop = detail.hits * detail.control_count < detail.control_hits * detail.count
    claim, purpose = f"No significant drop ({before} unperturbed, {after} perturbed)", "detect a large drop"
    if is_drop and detail.p is not None and detail.p < SURE:
        claim, purpose = f"Success fell from {before} to {after}", "identify a cause"
    elif not is_drop:
        claim = f"No drop was observed ({before} unperturbed, {after} perturbed)"
    starts = plural(detail.control_count, "start")
    if detail.telling < detail.control_count:
        starts = f"{detail.telling:,} of {starts} can show a loss (the control succeeds),"
    else:
        starts += " is" if detail.control_count == 1 else " are"
    caveats = []
    if is_drop and detail.p is not None:
        runs = f"{100 * detail.p:.0f}" if detail.p >= 0.01 else "fewer than 1"
        caveats.append(f"chance alone produces such a drop in {runs} of 100 runs")
    if detail.likely is not None and detail.likely_p is not None:
        cause = f"{lower_claim(detail.likely)} ({p_phrase(detail.likely_p)}, adjusted for all tests)"
        caveats.append(f"the most suspicious loss, which is not significant: {cause}")
    else:
        caveats.append(f"{starts} too few to {purpose}")
    caveats += ["use at least 2 seeds"] if detail.control_count == 1 else []
    return Sentence(claim, "", "; ".join(caveats))


def lower_claim(flaw: str) -> str:
    """Return the claim about a flaw for the middle of a sentence, such as ``ignores the instruction``."""
    claim = describe_flaw(flaw).claim
    return f"{claim[0].lower()}{claim[1:]}"


def format_counts(hits: int | None, count: int | None) -> str:
    """Format counts as ``k of n``."""
    return f"{hits:,} of {count:,}"


def _hits(evidence: Evidence) -> str:
    return format_counts(evidence.hits, evidence.count)


def format_share(share: float, interval: Interval | None) -> str:
    """Format a fraction as a percentage with its interval."""
    return f"{percent(share)}, 95 % interval {between(interval, 100)}"


def format_difference(evidence: Evidence) -> str:
    """Format a difference in percentage points with its interval."""
    assert evidence.interval is not None
    low, high = points(evidence.interval.low), points(evidence.interval.high)
    return f"{points(evidence.value)} points, 95 % interval {low} to {high}"


def format_unperturbed(evidence: Evidence) -> str:
    """Format the success of the reference, e.g. the controls, as counts or, without counts, as a percentage."""
    if evidence.reference_count is None:
        return percent(evidence.reference, 0)
    return format_counts(evidence.reference_hits, evidence.reference_count)


def _describe_evidence(finding: Finding, first: Evidence) -> tuple[str, str]:
    """Return the evidence for a finding as text, and a caveat (may be empty)."""
    own = MEASURES[first.measure].wording if first.measure in MEASURES else None
    if own is not None and isinstance(described := attempt(own, finding), tuple):
        return described
    present, part = finding.claim is Claim.PRESENT, first.part
    difference = f" ({format_difference(first)})" if present and first.interval and first.cost else ""
    match first.measure:
        case "memorisation":
            return _describe_memorisation(finding)
        case "nonsense":
            text = f"{_hits(first)} episodes reach the task's goal {_NONSENSE} ({part.partition('/')[2] or part})"
            return text, _NOT_ASKED if present else ""
        case "names":
            return _describe_names(finding, first)
        case "actions":
            also = [
                f"{_hits(evidence)} as {evidence.part}"
                for evidence in finding.evidence[1:]
                if evidence.measure == "actions" and evidence.shows is Shows.LOSS
            ]
            text = f"{_hits(first)} succeed with the action phrased as {part}, {format_unperturbed(first)} otherwise"
            return f"{text}, with all names kept", listed(also) if present else ""
        case "surface":
            form, usual = FORMS.get(part, part), f"{format_unperturbed(first)} unperturbed"
            text = f"the worst variant is {form}: {_hits(first)} succeed, {usual}"
            if present:
                text = f"{form} alone costs {100 * -first.value:.0f} points: {_hits(first)} succeed, {usual} "
                text += f"({format_difference(first)})"
            also = [
                f"{FORMS.get(evidence.part, evidence.part)} ({points(evidence.value)})"
                for evidence in finding.evidence[1:]
                if present and evidence.shows is Shows.LOSS
            ]
            return f"{text}; further losses, in points: {listed(also)}" if also else text, ""
        case "changes" | "drops" | "axes":
            text = f"{_hits(first)} succeed {describe_change(part)}, {format_unperturbed(first)} unperturbed"
            caveat = ""
            if present and finding.flaw == Flaw.UNKNOWN_NAMES:
                caveat = "names and wording change together and cannot be separated"
            elif present and isinstance(onset := finding.detail, Onset):
                lost = [format_counts(rate.successes, rate.count) for rate in onset.lost]
                if kept := onset.kept:
                    counts = format_counts(kept.successes, kept.count)
                    lost.append(f"still {counts} at {100 * kept.distance:.0f} cm")
                caveat = f"from {100 * onset.lost[0].distance:.0f} cm on ({', '.join(lost)})"
            return text + difference, caveat
        case "other_tasks":
            texts = []
            for evidence in (item for item in finding.evidence if item.measure == first.measure):
                what, usual = "when another task is requested", "in that task's own control"
                if evidence.part == "new":
                    what, usual = "with new goals", "with the original goals"
                texts.append(f"{_hits(evidence)} succeed {what}, {percent(evidence.reference, 0)} {usual}")
            return texts[0], "; ".join(texts[1:])
        case "attribution":
            text = f"{_hits(first)} succeed {describe_change(part)}, {format_unperturbed(first)} without"
            return f"{text}, all else equal{difference}", ""
        case "failures":
            least = "at least " if first.at_least and first.hits else ""
            return f"{least}{_hits(first)} unperturbed episodes fail close to the successful trajectory", ""
        case "starts" | "control":
            text = f"{_hits(first)} unperturbed episodes fail ({format_share(first.value, first.interval)})"
            if isinstance(finding.detail, Ability):
                return text, describe_ability(finding.detail) if present else ""
            return text, getattr(finding.detail, "caveat", "")
        case "labels":
            condition = part.replace("=", " is ")
            return f"{_hits(first)} succeed if {condition}, {format_unperturbed(first)} otherwise", ""
    if first.measure in {kind.name.lower() for kind in PatternKind}:
        more = len(finding.evidence) - _MAX_CASES
        cases = []
        for case in finding.evidence[:_MAX_CASES]:
            how, usual = describe_change(case.part), f"{percent(case.reference, 0)} unperturbed"
            if case.measure == PatternKind.SAYING.name.lower():
                how = f"phrased as {case.part}"
                usual = f"{format_unperturbed(case)} otherwise, with all names kept"
            cases.append(f"{case.task} {how}: {_hits(case)} succeed, {usual}".lstrip())
        return "; ".join(cases), f"and {more} more" if more > 0 else ""
    counts = f"{_hits(first)} " if first.count is not None else ""
    where = f"{first.measure} ({part})" if part else first.measure
    return f"{counts}by {where}: {format_share(first.value, first.interval)}", ""


def _describe_memorisation(finding: Finding) -> tuple[str, str]:
    """Describe the episodes that repeat the control's trajectory although a different one is required."""
    parts = {evidence.part: evidence for evidence in finding.evidence if evidence.measure == "memorisation"}
    moved, asked, nonsense = (parts.get(call) for call in (Calls.MOVED, Calls.ASKED, Calls.NONSENSE))
    conditions = finding.detail.conditions if isinstance(finding.detail, CalledBy) else {}

    def instructed(call: Calls) -> str:
        text = "with a request for something else" if call is Calls.ASKED else _NONSENSE
        names = listed(name.partition("/")[2] or name for name in conditions.get(call, ()))
        return f"{text} ({names})" if names else text

    call = Calls.ASKED if asked else Calls.NONSENSE
    words = asked or nonsense
    repeated = "it repeated the control's trajectory"
    if finding.flaw == Flaw.MEMORISES and moved is not None:
        text = f"in {_hits(moved)} episodes with the object moved, {repeated}"
        also = f", and in {_hits(words)} {instructed(call)}" if words else ""
        return text + also, _repeating_tasks(finding, Calls.MOVED)
    assert words is not None
    caveats = [_repeating_tasks(finding, call)]
    if asked and nonsense:
        caveats.append(f"{instructed(Calls.NONSENSE)}, it did so in {_hits(nonsense)}")
    elif finding.claim is Claim.PRESENT:
        caveats.append(_NOT_ASKED)
    if finding.claim is Claim.PRESENT:
        if moved is None or moved.interval is None:
            caveats.append("its use of vision was not tested")
        elif Degree.of(moved.interval) is Degree.RARELY:
            reacted = format_counts((moved.count or 0) - (moved.hits or 0), moved.count)
            caveats.append(f"it does use vision: {reacted} trajectories changed when the object moved")
    return f"in {_hits(words)} episodes {instructed(call)}, {repeated}", "; ".join(filter(None, caveats))


def _repeating_tasks(finding: Finding, call: Calls) -> str:
    """Name the tasks in which trajectories are repeated; empty if there are many or if these are all tasks."""
    if finding.claim is not Claim.PRESENT or not isinstance(finding.detail, CalledBy):
        return ""
    judged, total = finding.detail.tasks.get(call, ()), finding.detail.of
    repeating = sorted((task for task in judged if task.alike), key=lambda task: -task.alike / task.count)
    if not repeating or len(repeating) >= total or len(repeating) > _MAX_TASKS:
        return ""
    names = _name_tasks({task.task: format_counts(task.alike, task.count) for task in repeating})
    if len(repeating) < len(judged):
        return f"all of them in {names}, out of {len(judged)} judged tasks"
    only = "the only task" if len(repeating) == 1 else "the only tasks"
    return f"all of them in {names}, {only} that could be judged, out of {total}"


def _describe_names(finding: Finding, first: Evidence) -> tuple[str, str]:
    """Describe the success with other names for objects, and the objects whose other names are not understood."""
    parts = {evidence.part: evidence for evidence in finding.evidence[1:] if evidence.measure == "names"}
    text = f"{_hits(first)} succeed with other names, {format_unperturbed(first)} with all names kept"
    one, several = parts.pop("one", None), parts.pop("several", None)
    if finding.claim is not Claim.PRESENT:
        return text, ""
    if one and several:
        text += f" ({_hits(one)} with one changed, {_hits(several)} with several)"
    unknown = [
        f"the {part.part} ({_hits(part)}, {format_unperturbed(part)} with its name kept)"
        for part in parts.values()
        if part.shows is Shows.LOSS
    ]
    harmless = [f"the {part.part}" for part in parts.values() if part.shows is Shows.NO_HARM]
    caveats = [f"unknown: {listed(unknown)}"] if unknown else []
    caveats += [f"other names for {listed(harmless)} cause no loss"] if harmless else []
    return text, "; ".join(caveats)


def describe_ability(ability: Ability) -> str:
    """Describe which tasks the policy performs unperturbed and which it never performs; empty for one task."""
    if len(ability.tasks) < 2:
        return ""
    counts = {task.task: format_counts(task.successes, task.count) for task in ability.tasks}

    def name(tasks: Iterable[str]) -> str:
        return _name_tasks({task: counts[task] for task in sorted(tasks, key=natural)})

    done = ability.done_tasks
    never = [task for task in ability.never if task not in done]
    if not done:
        text = "no task reaches a success rate of 50 % in its controls"
        return f"{text}; it never performs {name(never)}" if never else text
    return f"it performs {name(done)}" + (f", but never {name(never)}" if never else "")


@dataclass(frozen=True, slots=True)
class SeedsWanted:
    """Recommended number of seeds, with which a loss worth finding would be found."""

    needed: int
    """Total number of seeds."""
    text: str
    """Recommendation as a sentence, without a full stop."""


def seeds_wanted(findings: Sequence[Finding]) -> SeedsWanted | None:
    """Return the number of seeds with which a loss worth finding would be found where one is suspected.

    It is suspected under the changes with a suspicious loss, or over all changes. None if nothing is suspicious, and if
    such a loss is excluded, would already be found, or takes an unreasonable number of seeds.
    """
    overall = next((finding.detail for finding in findings if isinstance(finding.detail, Fall)), None)
    unsure = [finding for finding in findings if finding.is_suspicious]
    if overall is not None and overall.likely is not None:
        unsure = [finding for finding in unsure if finding.flaw == overall.likely]
    needs = [(finding.more, finding) for finding in unsure if finding.more is not None]
    more, what = None if overall is None or unsure else overall.more, " over all changes"
    if needs:
        more, finding = max(needs, key=lambda need: need[0].needed)
        first = finding.evidence[0]
        what = f" {describe_change(Change.TASK if first.measure == 'other_tasks' else first.part)}"
    if more is None:
        return None
    text = f"With {plural(more.more, 'more seed')}, a loss of {100 * more.loss:g} points{what} would be found"
    return SeedsWanted(more.needed, f"{text} with a probability of 80 %")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Sentences of a diagnosis, grouped as they are displayed."""

    found: tuple[str, ...]
    """Flaws that were found, or the reason why there are none."""
    explained: tuple[str, ...]
    """Flaws that are consequences of a flaw that was found."""
    unsure: tuple[str, ...]
    """Observed losses that are not significant but are shown in the summary."""
    others: tuple[str, ...]
    """Results of all other tests."""
    in_brief: str
    """Claims of the sentences in ``found``, without their evidence."""
    seeds: SeedsWanted | None = None
    """Number of seeds with which a suspected loss would be found; None if no more seeds are recommended."""
    untested: Mapping[str, str] = field(default_factory=dict)
    """Reason why each untested flaw was not tested, by flaw."""

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Diagnosis:
        """Describe findings, keeping their order."""
        texts: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
        untested: dict[str, str] = {}
        first, unsure, claims = [], [], []
        if findings and findings[0].claim is Claim.ERRORS:
            refusal, *sentences = map(format_finding, findings)
            others = tuple(sentence.text for sentence in sentences)
            return cls((refusal.text,), (), (), others, f"{refusal.claim}.")
        for finding in findings:
            sentence = format_finding(finding)
            if finding.flaw == Flaw.NOTHING:
                first.append(sentence)
                continue
            if finding.verdict is Verdict.FOUND:
                claims.append(sentence.claim)
            if finding.untested is not None:
                untested[str(finding.flaw)] = _reason_untested(finding.untested)
            elif finding.is_suspicious:
                unsure.append(sentence.text)
            else:
                texts[finding.verdict].append(sentence.text)
        shown = 0 if first else _MAX_UNCERTAIN  # a headline covers all of them
        return cls(
            found=(*(sentence.text for sentence in first), *texts[Verdict.FOUND]),
            explained=tuple(texts[Verdict.EXPLAINED]),
            unsure=tuple(unsure[:shown]),
            others=(*unsure[shown:], *texts[Verdict.NOT_FOUND], *texts[Verdict.CANNOT_TELL]),
            in_brief=" ".join(f"{claim}." for claim in (*(sentence.claim for sentence in first), *claims)),
            seeds=seeds_wanted(findings),
            untested=untested,
        )


def not_tested(untested: Sequence[Mapping[str, str]], where: str = "") -> list[str]:
    """List the flaws that no run tests, with one line for each reason.

    ``untested`` maps flaws to reasons, for each run.
    """
    claims: dict[str, list[str]] = {}
    for flaw in untested[0] if untested else ():
        reasons = {run.get(flaw) for run in untested}
        if None not in reasons:
            reason = f" ({reasons.pop()})" if len(reasons) == 1 else ""
            claims.setdefault(reason, []).append(lower_claim(flaw))
    return [f"Not tested{where}{reason}: {'; '.join(flaws)}." for reason, flaws in claims.items()]
