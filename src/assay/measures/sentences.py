"""Findings as sentences: claim, evidence, caveat.

format_finding(finding).text      # "Ignores the instruction: in 10 of 10 episodes with nonsense or ..."
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from assay.measures.evidence_text import MOST_TASKS, describe_evidence
from assay.measures.findings import Claim, Fall, Finding, Unnoticed, Untested, Verdict, Where
from assay.measures.flaws import DEFAULT_TASK, LACKING, Degree, Flaw
from assay.measures.measure import describe_flaw
from assay.measures.memory.memorisation import Calls
from assay.measures.sample_size import MoreSeeds
from assay.measures.views.wording import describe_change, listed, p_phrase, percent, plural
from assay.support.stats.significance import SURE

DEGREES = MappingProxyType(
    {Degree.MOSTLY: "", Degree.PARTLY: " (at least in part)", Degree.RARELY: " (in a minority of episodes)"}
)
_MOST_UNSURE = 3
"""Maximum number of insignificant losses that are shown unfolded."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A finding as claim, evidence and caveat."""

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
    claim = DEFAULT_TASK if _rests_on_nonsense(finding) else flaw.claim
    if finding.claim is Claim.UNTESTED:
        return Sentence(f"{claim}? Not tested", _reason_untested(finding.untested))
    evidence, caveat = describe_evidence(finding)
    first = finding.evidence[0]
    if finding.claim is Claim.TOO_FEW:
        at_floor = first.cost and not (first.reference or first.reference_hits)
        return Sentence(f"{claim}? {'No control succeeds' if at_floor else 'Too few starts'}", evidence)
    if finding.claim is Claim.NO_SIGN:
        return Sentence(f"{claim}? No significant evidence", evidence, caveat)
    if finding.claim is Claim.ABSENT:
        return Sentence(flaw.absent, evidence)
    if finding.flaw == Flaw.LOSS:
        return _overall_loss(finding, claim, evidence)
    if finding.cause is not None:
        caveat = f"explained by: {describe_flaw(finding.cause).claim.lower()}"
    caveat = "; ".join(part for part in (caveat, _describe_tasks(finding.where)) if part)
    degree = finding.degree if abs(first.value) < 1 - 1e-9 else None  # the numbers already say all
    return Sentence(claim + (DEGREES[degree] if degree else ""), evidence, caveat)


def _rests_on_nonsense(finding: Finding) -> bool:
    """Return whether a finding of an ignored instruction rests on nonsense instructions alone.

    Under nonsense, the trained task is a reasonable default.
    """
    first = finding.evidence[0] if finding.evidence else None
    by_nonsense = first is not None and (first.measure == "nonsense" or first.part == Calls.NONSENSE)
    return finding.flaw == Flaw.IGNORES_WORDS and by_nonsense


def _describe_tasks(where: Where | None) -> str:
    """Describe the tasks in which a change costs most; empty if the tasks do not differ, or there is only one."""
    if where is None or where.uneven_p is None or where.uneven_p >= SURE:
        return ""
    if not where.tasks:
        return f"differs between the {where.of} tasks ({p_phrase(where.uneven_p)})"
    worst = sorted(where.tasks, key=lambda task: task.perturbed - task.control)
    names = [
        f"{task.task} ({percent(task.control, 0)} to {percent(task.perturbed, 0)})"
        for task in worst[:MOST_TASKS]
    ]
    more = [f"{len(worst) - MOST_TASKS} others"] if len(worst) > MOST_TASKS else []
    return f"mainly in {listed([*names, *more])}, of {where.of} tasks"


@dataclass(frozen=True, slots=True)
class SeedsWanted:
    """Number of seeds that would make an insignificant loss significant."""

    more: MoreSeeds
    what: str
    """Loss or losses that the seeds would make significant."""
    several: bool = False
    """Whether ``what`` refers to several losses."""

    @property
    def text(self) -> str:
        """The recommendation as a sentence without a full stop."""
        size = "they are as large as observed" if self.several else "it is as large as observed"
        return (
            f"With {plural(self.more.more, 'more seed')} {self.what} would be significant with a probability of 80 %, "
            f"if {size}"
        )


def seeds_wanted(findings: Sequence[Finding]) -> SeedsWanted | None:
    """Return the seeds for the likeliest cause of a fall, else for the fall, else for all insignificant losses.

    None if no reasonable number of seeds would make a loss significant.
    """
    unsure = [finding for finding in findings if finding.more is not None]
    for finding in findings:
        if finding.flaw == Flaw.NOTHING and isinstance(finding.detail, Fall):
            likely = [other for other in unsure if other.flaw == finding.detail.likely]
            if not likely and finding.detail.more is not None:
                return SeedsWanted(finding.detail.more, "this fall")
            unsure = likely or unsure
    needs = [finding.more for finding in unsure if finding.more is not None]
    if not needs:
        return None
    most = max(needs, key=lambda more: more.needed)
    if len(needs) > 1:
        return SeedsWanted(most, "all losses that are not significant", several=True)
    return SeedsWanted(most, f"the loss {describe_change(unsure[0].evidence[0].part)}")


def _reason_untested(untested: Untested | None) -> str:
    if untested is None:
        return "the runs have no episodes that would test it"
    if untested.notes:  # the reason of the measure itself
        return "; ".join(untested.notes)
    if untested.too_few:
        return "too few of the informative controls succeed"
    return LACKING.get((untested.measure, untested.flaw)) or describe_flaw(untested.flaw).lacking


def _lower_first(text: str) -> str:
    return f"{text[0].lower()}{text[1:]}"


def _no_flaw(finding: Finding) -> Sentence:
    """State that no flaw was found, with the loss that is not excluded, or that the starts are too few."""
    detail = finding.detail
    if isinstance(detail, Fall):
        return _too_few_starts(detail)
    if not isinstance(detail, Unnoticed):
        return Sentence(
            "No flaw could be tested",
            "a test compares perturbed episodes with their controls, some of which must succeed",
        )
    claim = f"No flaw found, of {detail.looked_for} tested"
    if detail.too_few:
        claim += f"; {plural(detail.too_few, 'further flaw')} cannot be tested with this number of starts"
    if detail.flaw is None or detail.loss is None:
        return Sentence(claim, "")
    widest = _lower_first(describe_flaw(detail.flaw).claim)
    caveat = f"a loss of up to {100 * detail.loss:.0f} points is not excluded (95 % intervals; the widest: {widest})"
    return Sentence(claim, "", caveat)


def _too_few_starts(fall: Fall) -> Sentence:
    before, after = f"{fall.control_hits:,} of {fall.control_count:,}", f"{fall.hits:,} of {fall.count:,}"
    fell = fall.hits * fall.control_count < fall.control_hits * fall.count
    starts = f"{plural(fall.control_count, 'start')} {'is' if fall.control_count == 1 else 'are'}"
    if fall.telling < fall.control_count:
        starts = f"{fall.telling:,} of {plural(fall.control_count, 'start')} can show a loss (the control succeeds),"
    claim = f"Success fell from {before} to {after}"
    if not fell:
        claim = f"No fall was observed ({before} unperturbed, {after} perturbed)"
    if fall.likely is not None and fall.likely_p is not None:
        likely = f"{_lower_first(describe_flaw(fall.likely).claim)} ({p_phrase(fall.likely_p)})"
        return Sentence(claim, "", f"{starts} too few to identify a cause; the likeliest is: {likely}")
    return Sentence(
        claim, "", f"{starts} too few to {'identify a cause' if fell else 'find even a large one'}"
    )


def _overall_loss(finding: Finding, claim: str, evidence: str) -> Sentence:
    """State that success falls over all changes, and whether one of them is responsible."""
    fall = finding.detail
    if not isinstance(fall, Fall) or finding.evidence[0].part:  # a single change, or a joint one
        return Sentence(claim, evidence, "no test identifies the flaw")
    evidence = (
        f"{fall.hits:,} of {fall.count:,} succeed under all changes, {fall.control_hits:,} of "
        f"{fall.control_count:,} unperturbed"
    )
    if fall.costly:
        return Sentence(claim, evidence, f"largest losses: {listed(fall.costly)}")
    if fall.alike_p is None:
        return Sentence(claim, evidence, "the responsible change cannot be identified")
    return Sentence(
        "Declines under all changes alike",
        evidence,
        f"no change costs significantly more than another ({p_phrase(fall.alike_p)})",
    )


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Sentences of a diagnosis, grouped as they are shown."""

    found: tuple[str, ...]
    """Flaws that were found, or the reason why none was."""
    explained: tuple[str, ...]
    """Flaws caused by another one."""
    unsure: tuple[str, ...]
    """Observed losses that are not significant."""
    others: tuple[str, ...]
    """Flaws that were tested and are absent, or not significant."""
    in_brief: str
    """Flaws that were found, without numbers."""
    seeds: SeedsWanted | None = None
    """Number of seeds that would make insignificant losses significant."""
    untested: Mapping[str, str] = field(default_factory=dict)
    """Untested flaw -> reason."""

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Diagnosis:
        """Describe findings, in their order."""
        texts: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
        untested: dict[str, str] = {}
        first, unsure, claims = [], [], []
        for finding in findings:
            sentence = format_finding(finding)
            if finding.flaw == Flaw.NOTHING:
                first.append(sentence)
                continue
            if finding.verdict is Verdict.FOUND:
                claims.append(sentence.claim)
            if finding.untested is not None:
                untested[str(finding.flaw)] = _reason_untested(finding.untested)
            elif finding.more is not None:
                unsure.append(sentence.text)
            else:
                texts[finding.verdict].append(sentence.text)
        shown = 0 if first else _MOST_UNSURE  # the headline covers all of them
        return cls(
            found=(*(sentence.text for sentence in first), *texts[Verdict.FOUND]),
            explained=tuple(texts[Verdict.EXPLAINED]),
            unsure=tuple(unsure[:shown]),
            others=(*unsure[shown:], *texts[Verdict.NOT_FOUND], *texts[Verdict.CANNOT_TELL]),
            in_brief=" ".join(f"{claim}." for claim in (*(sentence.claim for sentence in first), *claims)),
            seeds=seeds_wanted(findings),
            untested=untested,
        )

    @property
    def not_tested(self) -> list[str]:
        """List untested flaws, one line for each reason."""
        return not_tested([self.untested])


def not_tested(untested: Sequence[Mapping[str, str]], where: str = "") -> list[str]:
    """List the flaws that no run tests (flaw -> reason, for each run), one line for each common reason."""
    flaws: dict[str, list[str]] = {}
    for flaw in untested[0] if untested else ():
        reasons = {run.get(flaw) for run in untested}
        if None not in reasons:
            flaws.setdefault(f" ({reasons.pop()})" if len(reasons) == 1 else "", []).append(flaw)
    return [f"Not tested{where}: {', '.join(names)}{why}." for why, names in flaws.items()]
