"""Scores as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.extensions.eqa.question import LETTERS, Kind
from assay.extensions.eqa.scoring.accuracy import Mean
from assay.extensions.eqa.scoring.contrasts import Contrast
from assay.extensions.eqa.scoring.errors import Component
from assay.extensions.eqa.scoring.means import PARTS
from assay.extensions.eqa.scoring.score import Score
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import between, number

_CONTRAST = (
    Column("n", "count"),
    Column("first's share", "share"),
    Column("second's share", "share"),
    Column("second less first", "change"),
    Column("95 % interval", "change"),
    Column("p", "p"),
    Column("Holm p", "p"),
)
_PAIRED = "On the same items; 95 % Newcombe intervals over episodes, exact p, adjusted after Holm."


def overview(score: Score) -> Table:
    """A row for each model: the hierarchical means."""
    return Table(
        "models",
        "Right answers by level and direction",
        (
            Column("model"),
            Column("n", "count"),
            *(Column(f"{part}, %") for part in PARTS),
            Column("lenient, %"),
        ),
        tuple(
            (
                name,
                model.standing.questions,
                *(_shown(model.standing.means.get(part)) for part in PARTS),
                _shown(model.lenient),
            )
            for name, model in score.models.items()
        ),
        "Mean over data sets of each kind, then over kinds; in brackets: 95 % bootstrap over episodes. "
        f"Chance is {number(100 * score.chance, 0)} %. Lenient: overall, where the form of an answer is forgiven.",
    )


def accuracies(score: Score) -> Table:
    """A row for each model, data set and kind."""
    return Table(
        "accuracy",
        "Right answers by data set and kind",
        (
            Column("model"),
            Column("data set"),
            Column("kind"),
            Column("n", "count"),
            Column("right", "share"),
            Column("95 % interval", "share"),
        ),
        tuple(
            (name, cell.dataset, cell.kind, cell.questions, cell.share, cell.interval)
            for name, model in score.models.items()
            for cell in model.standing.accuracies
        ),
        f"Kinds: {', '.join(Kind)}. Wilson's intervals over episodes.",
    )


def asymmetries(score: Score) -> Iterator[Table]:
    """Inference less prediction: in the means, and where both ask about the same moments."""
    yield Table(
        "asymmetry",
        "Action inference less state prediction",
        (Column("model"), *(Column(f"{level}, points") for level in ("overall", "high", "mid", "low"))),
        tuple(
            (
                name,
                *(_shown(model.standing.asymmetry.get(level)) for level in ("overall", "high", "mid", "low")),
            )
            for name, model in score.models.items()
        ),
        "Hierarchical means; in brackets: 95 % cluster bootstrap over episodes.",
    )
    yield from _contrasts(
        "directions",
        "Both directions between the same two moments",
        [(name, direction) for name, model in score.models.items() for direction in model.directions],
    )


def views(score: Score) -> Iterator[Table]:
    """By view, and two views of the same items."""
    rows = tuple(
        (name, view, each.questions, *(_shown(each.means.get(part)) for part in PARTS))
        for name, model in score.models.items()
        for view, each in model.views.items()
    )
    if rows:
        yield Table(
            "views",
            "Right answers by view",
            (
                Column("model"),
                Column("view"),
                Column("n", "count"),
                *(Column(f"{part}, %") for part in PARTS),
            ),
            rows,
            "Hierarchical means; in brackets: 95 % cluster bootstrap over episodes.",
        )
    yield from _contrasts(
        "view-contrasts",
        "Two views of the same items",
        [
            (name, view_contrast)
            for name, model in score.models.items()
            for view_contrast in model.view_contrasts
        ],
    )


def comparisons(score: Score) -> Iterator[Table]:
    """Every two models."""
    yield from _contrasts("comparison", "Models on the same questions", [("", x) for x in score.comparisons])


def errors(score: Score) -> Iterator[Table]:
    """By component, and by kind of mistake."""
    rows = [
        (name, level, "all views", part)
        for name, model in score.models.items()
        for level, parts in model.components.items()
        for part in parts
    ]
    rows += [
        (name, level, "all views", part)
        for name, model in score.models.items()
        for level, parts in model.dimensions.items()
        for part in parts
        if part.component != "gripper" and part.questions
    ]
    rows += [
        (name, "mid", view, part)
        for name, model in score.models.items()
        for view, parts in model.view_components.items()
        for part in parts
    ]
    if rows:
        yield _components(rows)
    if score.mistakes:
        yield Table(
            "mistakes",
            "Kinds of mistakes",
            (
                *map(
                    Column, ("model", "level", "direction", "group", "part", "kind of mistake", "marked by")
                ),
                Column("count", "count"),
            ),
            tuple(
                (
                    mistake.model,
                    mistake.level,
                    mistake.direction,
                    mistake.group,
                    mistake.part,
                    mistake.category,
                    mistake.marker,
                    mistake.count,
                )
                for mistake in score.mistakes
            ),
            "Marked by hand or by a judge model, as said; a judge model is not a measurement.",
        )


def checks(score: Score) -> Iterator[Table]:
    """Letters, what is no answer, and agreement."""
    yield Table(
        "letters",
        "How often each letter is right, and chosen",
        (Column("of"), *(Column(letter, "count") for letter in LETTERS), Column("chi-square p", "p")),
        tuple(
            (f"{what}: {each.of}", *each.counts, each.p)
            for what, found in (("right", score.right_letters), ("chosen", score.chosen_letters))
            for each in found
        ),
        "A small p says that letters are not all as frequent.",
    )
    lost: list[tuple[Value, ...]] = []
    for name, model in score.models.items():
        lost += [(name, f"no answer: {reason}", count, "wrong") for reason, count in model.unparsed.items()]
        if model.unanswered:
            lost.append((name, "the endpoint did not answer", model.unanswered, "not counted"))
        if model.strangers:
            lost.append((name, "answers to questions of another folder", model.strangers, "not counted"))
        if missing := score.questions - model.asked:
            lost.append((name, "not asked", missing, "not counted"))
    if lost:
        columns = (Column("model"), Column("what"), Column("questions", "count"), Column("counts as"))
        yield Table("unparsed", "Questions without an answer", columns, tuple(lost))
    asked = [(name, model) for name, model in score.models.items() if model.asked_with]
    if asked:
        yield Table(
            "provenance",
            "How models were asked",
            (
                *map(Column, ("model", "endpoint and parameters", "first answer", "last answer")),
                Column("tokens sent", "count"),
                Column("tokens received", "count"),
            ),
            tuple((name, "; ".join(each.asked_with), *each.days, *each.tokens) for name, each in asked),
        )
    if score.agreement:
        yield Table(
            "agreement",
            "How far annotators agree",
            (
                Column("annotators"),
                Column("n", "count"),
                Column("agreement", "share"),
                Column("95 % interval", "share"),
                Column("kappa, chance 1/4", "number"),
                Column("Cohen's kappa", "number"),
                Column("Gwet's AC1", "number"),
            ),
            tuple(
                (
                    ", ".join(each.annotators),
                    each.items,
                    each.observed,
                    each.interval,
                    each.even_kappa,
                    each.kappa,
                    each.ac1,
                )
                for each in score.agreement
            ),
            "On questions that at least two answered; bootstrap over questions.",
        )


def _components(rows: Sequence[tuple[str, str, str, Component]]) -> Table:
    return Table(
        "components",
        "Errors by component of the action",
        (
            *map(Column, ("model", "level", "view", "component")),
            Column("n", "count"),
            Column("errors", "count"),
            Column("error rate", "share"),
            Column("95 % interval", "share"),
            Column("proportion", "share"),
        ),
        tuple(
            (*what, each.component, each.questions, each.errors, each.rate, each.interval, each.proportion)
            for *what, each in rows
        ),
        "n: questions whose action has the component. Proportion: the rate in the sum of the three rates.",
    )


def _contrasts(name: str, title: str, found: Sequence[tuple[str, Contrast]]) -> Iterator[Table]:
    if not found:
        return
    named = any(model for model, _ in found)
    yield Table(
        name,
        title,
        (*([Column("model")] if named else []), Column("first"), Column("second"), *_CONTRAST),
        tuple(
            (
                *([model] if named else []),
                each.first,
                each.second,
                each.pairs,
                each.first_share,
                each.second_share,
                each.difference,
                each.interval,
                each.p,
                each.p_holm,
            )
            for model, each in found
        ),
        _PAIRED,
    )


def _shown(mean: Mean | None) -> str | None:
    if mean is None:
        return None
    value = number(100 * mean.share)
    return value if mean.interval is None else f"{value} ({between(mean.interval, 100)})"
