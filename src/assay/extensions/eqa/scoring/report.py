"""The report on answers: the tables and figures of the ActionEQA paper, contrasts, and checks.

Accuracies are means over the data sets of each kind, as in the paper. With several views, the main view is a single
static camera. Averages over models exclude people and baselines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.extensions.eqa.actions import ActionLevel
from assay.extensions.eqa.question import LETTERS, Question, QuestionKind
from assay.extensions.eqa.scoring.accuracy import PARTS, Mean
from assay.extensions.eqa.scoring.figures import FIGURES, overall_figure, overall_mark
from assay.extensions.eqa.scoring.results import ModelFacts, ReportData
from assay.extensions.eqa.scoring.score import ModelScore, Score
from assay.extensions.eqa.scoring.tables import TABLES
from assay.measures.result import Missing, Result
from assay.measures.views.forest import MOST
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table, Value, declared_columns
from assay.measures.views.wording import between, listed, number, percent, plural, points
from assay.report.papers import ExhibitPlan, Make, Paper, PaperReport, plan_sections

ABOUT = "ActionEQA: Action Interface for Embodied Question Answering"
SECTIONS = (
    (
        "Performance",
        "Accuracy of each model by data set and kind. Every question has four options: chance is 25 %.",
        ("Table 1", "Accuracy", "Section 3.2", "Figure 5", "Figure 20", "Figure 19", "Section C.4"),
    ),
    (
        "Views and contrasts",
        "The same items with more cameras or from another perspective, and paired contrasts.",
        ("Table 2", "Figure 6", "Table 3", "Table 4", "Contrasts"),
    ),
    (
        "Errors",
        "Errors by component of the action, and error categories.",
        ("Table 11", "Table 12", "Components", "Figure 7", "Table 13"),
    ),
    ("The questions", "Statistics of the question set.", ("Table 7", "Table 8", "Table 9", "Figure 3")),
    (
        "Checks",
        "Replies without an answer count as wrong; questions that an endpoint did not answer are not scored.",
        ("Checks",),
    ),
)
"""Title, description, and labels of the tables and figures of each section; those without a number are Assay's own."""
MIN_CELL_QUESTIONS = 10
"""Number of questions per data set and kind below which a warning is shown."""
UNEVEN_P = 0.001
"""p-value of the letter frequencies below which a warning is shown."""
MAX_UNPARSED = 0.05
"""Fraction of replies without an answer above which a warning is shown."""


def report(score: Score, questions: Sequence[Question], facts: Mapping[str, ModelFacts]) -> PaperReport:
    """Create the report, with the tables and figures for which there are answers."""
    exhibits = {**TABLES, **FIGURES, **OWN_EXHIBITS}
    plans = (ExhibitPlan(label, *plan) for label, plan in exhibits.items())
    sections = tuple(plan_sections(SECTIONS, plans)(ReportData(score, questions, facts)))
    models = tuple((name, summarise(model, score.chance)) for name, model in score.models.items())
    made_from = f"answers to {plural(score.questions, 'question')}"
    paper = Paper("actioneqa", ABOUT, lambda runs: ())
    return PaperReport(paper, models, sections, tuple(warnings(score)), made_from)


def warnings(score: Score) -> Iterator[str]:
    """Yield reasons to doubt the results, one line each."""
    for letters in score.right_letters:
        if letters.p < UNEVEN_P:
            best = percent(letters.most)
            yield f"The correct letters are not balanced ({letters.of}): always choosing one letter scores {best}."
    sizes = {
        f"{accuracy.dataset} {accuracy.kind}": accuracy.questions
        for model in score.models.values()
        for accuracy in model.standing.accuracies
    }
    if few := [f"{cell} ({count})" for cell, count in sizes.items() if count < MIN_CELL_QUESTIONS]:
        cells = f"{', '.join(few[:6])}{', ...' * (len(few) > 6)}"
        yield f"Data sets and kinds with few questions have full weight in means: {cells}."
    if len(score.views) > 1:
        views = f"{plural(len(score.views), 'view')} of the same items ({', '.join(score.views)})"
        yield f"Means combine {views}; see Views and contrasts."
    for name, asked in score.silent.items():
        yield f"{name}: not scored; none of {plural(asked, 'question')} was answered."
    for name, model in score.models.items():
        if model.unanswered:
            advice = " by the endpoint; run assay eqa ask again" if model.asked_with else ""
            yield f"{name}: {plural(model.unanswered, 'question')} unanswered{advice}."
        if missing := score.questions - model.asked:
            yield f"{name}: {missing:,} of {score.questions:,} questions were not asked."
        unparsed = sum(model.unparsed.values())
        if unparsed > MAX_UNPARSED * model.asked:
            yield f"{name}: {unparsed:,} of {model.asked:,} replies contain no answer; they count as wrong."


def summarise(model: ModelScore, chance: float) -> str:
    """Describe the accuracy of a model in one sentence."""
    standing, interval = model.standing, model.standing.overall.interval
    if interval is None:
        verdict = ", too few episodes for an interval"
    else:
        position = "below" if interval.high < chance else "above" if interval.low > chance else "not above"
        verdict = f" ({between(interval, 100)}), {position} chance"
    levels = [
        f"{level} {percent(standing.means[level].share)}"
        for level in map(str, ActionLevel)
        if level in standing.means
    ]
    gap = standing.asymmetry.get("overall")
    direction = "" if gap is None else f"; inference minus prediction {points(gap.share)} points"
    form = ""
    if model.unparsed and model.among_letters is not None:
        unparsed = plural(
            sum(model.unparsed.values()), "reply without an answer", "replies without an answer"
        )
        form = f"; {unparsed}, {percent(model.among_letters)} of the other replies are correct"
    return f"{percent(standing.overall.share)}{verdict}; {listed(levels)}{direction}{form}."


def accuracy_parts(data: ReportData) -> Iterator[Drawing | Table | Missing]:
    """Yield the overall accuracy as a figure, and the accuracy by data set and kind as a table."""
    models = list(data.score.models.items())[:MOST]
    marks = [overall_mark(name, model.standing) for name, model in models]
    yield overall_figure("overall", "Overall accuracy", {"": marks}, data.score.chance)
    yield _results_table(
        "kinds",
        "Accuracy by data set and kind",
        [(name, cell) for name, model in data.score.models.items() for cell in model.standing.accuracies],
        f"Kinds: {', '.join(QuestionKind)}. Wilson intervals, clustered by episode.",
    )


def levels_table(data: ReportData) -> Table:
    """Return a table of each model's means by view, level and direction, and of inference minus prediction."""

    def cell(mean: Mean | None, is_change: bool = False) -> str | None:
        if mean is None:
            return None
        value = points(mean.share) if is_change else number(100 * mean.share)
        return value if mean.interval is None else f"{value} ({between(mean.interval, 100)})"

    parts, rows = (*PARTS, "lenient"), []
    for name, model in data.score.models.items():
        for view, standing in {"all views": model.standing, **model.views}.items():
            means = standing.means | ({"lenient": model.lenient} if standing is model.standing else {})
            gap = cell(standing.asymmetry.get("overall"), is_change=True)
            rows.append((name, view, standing.questions, *(cell(means.get(part)) for part in parts), gap))
    return Table(
        "models",
        "Accuracy by level and direction",
        (
            *map(Column, ("model", "view")),
            Column("n", "count"),
            *(Column(f"{part}, %") for part in parts),
            Column("inference minus prediction, points"),
        ),
        tuple(rows),
        "High: an instruction; mid: the signs of a motion; low: its numbers. Prediction asks for the outcome of an "
        "action, inference for the action between two states. Mean over data sets for each kind, then over kinds, with "
        "95 % intervals over episodes in brackets. Lenient: overall accuracy, regardless of the form of the reply.",
    )


def contrast_tables(data: ReportData) -> Iterator[Table | Missing]:
    """Yield tables of the contrasts between models, directions and views."""
    note = "On the same items; 95 % Newcombe intervals over episodes, exact p-values with Holm's correction."
    models = data.score.models.items()
    if data.score.comparisons:
        yield Table.of("models", "Models on the same questions", data.score.comparisons, note=note)
    directions = [(name, contrast) for name, model in models for contrast in model.directions]
    yield _results_table("directions", "Both directions between the same two moments", directions, note)
    views = [(name, contrast) for name, model in models for contrast in model.view_contrasts]
    yield _results_table("views", "Two views of the same items", views, note)


def components_table(data: ReportData) -> Table | Missing:
    """Return a table of errors by component and dimension of the action at the mid and the low level."""
    rows = [
        (f"{name}, {level}", errors)
        for name, model in data.score.models.items()
        for level in model.components
        for errors in (*model.components[level], *model.dimensions[level][:-1])
        if errors.questions
    ]
    note = (
        "n: number of questions that involve the component. "
        "Proportion: the rate divided by the sum of the three rates."
    )
    return _results_table("components", "Errors by component of the action", rows, note)


def check_tables(data: ReportData) -> Iterator[Table]:
    """Yield tables of letter frequencies, questions without an answer, request settings and annotator agreement."""
    score = data.score
    yield Table(
        "letters",
        "Frequencies of correct and chosen letters",
        (Column("of"), *(Column(letter, "count") for letter in LETTERS), Column("chi-square p", "p")),
        tuple(
            (f"{name}: {letters.of}", *letters.counts, letters.p)
            for name, group in (("right", score.right_letters), ("chosen", score.chosen_letters))
            for letters in group
        ),
        "A small p-value means that the frequencies are unequal.",
    )
    lost: list[tuple[Value, ...]] = []
    for name, model in score.models.items():
        lost += [(name, f"no answer: {reason}", count, "wrong") for reason, count in model.unparsed.items()]
        unscored = {
            "the endpoint did not answer": model.unanswered,
            "answers to questions in another folder": model.strangers,
            "not asked": score.questions - model.asked,
        }
        lost += [(name, reason, count, "not counted") for reason, count in unscored.items() if count]
    if lost:
        columns = (Column("model"), Column("reason"), Column("questions", "count"), Column("counted as"))
        yield Table("unparsed", "Questions without an answer", columns, tuple(lost))
    if asked := [(name, model) for name, model in score.models.items() if model.asked_with]:
        yield Table(
            "settings",
            "Request settings",
            (
                *map(Column, ("model", "endpoint and parameters", "first answer", "last answer")),
                *(Column(name, "count") for name in ("tokens sent", "tokens received")),
            ),
            tuple((name, "; ".join(model.asked_with), *model.days, *model.tokens) for name, model in asked),
        )
    if score.agreement:
        yield Table.of(
            "agreement",
            "Inter-annotator agreement",
            score.agreement,
            Column("annotators", value=lambda agreement: ", ".join(agreement.annotators)),
            *("items", "observed", "interval", "even_kappa", "kappa", "ac1"),
            note="On questions with at least two answers; bootstrap intervals over questions.",
        )


OWN_EXHIBITS: Mapping[str, tuple[str, Make]] = {
    "Accuracy": ("Overall, and by data set and kind", accuracy_parts),
    "Section 3.2": ("Inference compared with prediction, and levels", levels_table),
    "Contrasts": ("Models, directions and views on the same items", contrast_tables),
    "Components": ("Error rates by component and dimension", components_table),
    "Checks": ("Letters, missing answers, request settings and annotator agreement", check_tables),
}
"""Title and function of each part of the report that is not in the paper, by label."""


def _results_table(name: str, title: str, rows: Sequence[tuple[str, Result]], note: str) -> Table | Missing:
    """Return a table with the model and the declared columns of each result."""
    if not rows:
        return Missing(f"(no data): {title}")
    declared = declared_columns(type(rows[0][1]))  # type: ignore[arg-type]  # classes are hashable
    values = tuple((model, *(getattr(result, field) for field in declared)) for model, result in rows)
    return Table(name, title, (Column("model"), *declared.values()), values, note)
