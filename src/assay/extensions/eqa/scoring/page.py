"""The report about answers: one self-contained page, and its figures and tables as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from assay import __version__
from assay.extensions.eqa.actions import ActionLevel
from assay.extensions.eqa.question import LETTERS, QuestionKind
from assay.extensions.eqa.scoring.accuracy import PARTS, Mean
from assay.extensions.eqa.scoring.answer_sheet import HUMAN
from assay.extensions.eqa.scoring.score import ModelScore, Score
from assay.measures.result import Result
from assay.measures.views.forest import MOST, Mark, forest_drawing
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table, Value, declared_columns
from assay.measures.views.wording import between, listed, number, percent, plural, points
from assay.report.page import ReportSection, prepare_folder, write_files
from assay.report.rendering import render

MIN_CELL_QUESTIONS = 10
"""Minimum number of questions of a data set and kind; fewer cause a warning."""
UNEVEN_P = 0.001
"""p-value of the letter frequencies below which a warning is shown."""
MAX_UNPARSED = 0.05
"""Fraction of replies without an answer above which a warning is shown."""
_PAIRED = "On the same items; 95 % Newcombe intervals over episodes, exact p, adjusted after Holm."


def write_page(score: Score, title: str, folder: Path) -> Path:
    """Write the page, figures (SVG) and tables (CSV, Markdown, LaTeX); returns the path of the page."""
    sections = [section for section in _sections(score) if section.drawings or section.tables]
    page = prepare_folder(folder)
    for section in sections:
        write_files(folder, ".", section.drawings, section.tables)
    html = render(
        "questions.html.jinja",
        title=title,
        version=__version__,
        banners=list(warnings(score)),
        sentences=list(summarise(score)),
        sections=sections,
    )
    page.write_text(html, encoding="utf-8", errors="replace")
    return page


def _sections(score: Score) -> Iterator[ReportSection]:
    about = "Every question has four options: chance is 25 %."
    yield ReportSection("Accuracy", about, (_overall_figure(score),), tuple(_accuracy_tables(score)))
    about = "Prediction and inference of the same two moments, and camera views of the same items."
    contrasts = (
        *_results_table(
            "directions",
            "Both directions between the same two moments",
            _per_model(score, lambda model: model.directions),
            _PAIRED,
        ),
        *_results_table(
            "view-contrasts",
            "Two views of the same items",
            _per_model(score, lambda model: model.view_contrasts),
            _PAIRED,
        ),
    )
    yield ReportSection("Directions and views", about, (), contrasts)
    about = "Components of the action in wrong answers."
    yield ReportSection("Errors", about, (), tuple(_error_tables(score)))
    about = "Balance of letters, replies without an answer, and agreement of annotators."
    yield ReportSection("Checks", about, (), tuple(_check_tables(score)))


def warnings(score: Score) -> Iterator[str]:
    """Yield reasons to doubt the results, one line each."""
    for letters in score.right_letters:
        if letters.p < UNEVEN_P:
            best = percent(letters.most)
            yield f"Correct letters are not balanced ({letters.of}): always choosing one letter scores {best}."
    sizes = {
        f"{accuracy.dataset} {accuracy.kind}": accuracy.questions
        for model in score.models.values()
        for accuracy in model.standing.accuracies
    }
    if few := [f"{cell} ({count})" for cell, count in sizes.items() if count < MIN_CELL_QUESTIONS]:
        yield f"Few questions with full weight in means: {', '.join(few[:6])}{', ...' * (len(few) > 6)}."
    if len(score.views) > 1:
        yield f"Means pool {plural(len(score.views), 'view')} of the same items ({', '.join(score.views)}); see Views."
    for name, asked in score.silent.items():
        yield f"{name}: not scored; none of {plural(asked, 'question')} was answered."
    for name, model in score.models.items():
        if model.unanswered:
            advice = " by the endpoint; ask again" if model.asked_with else ""
            yield f"{name}: {plural(model.unanswered, 'question')} unanswered{advice}."
        if missing := score.questions - model.asked:
            yield f"{name}: {missing:,} of {score.questions:,} questions were not asked."
        unparsed = sum(model.unparsed.values())
        if unparsed > MAX_UNPARSED * model.asked:
            yield f"{name}: {unparsed:,} of {model.asked:,} replies contain no answer; they count as wrong."


def summarise(score: Score) -> Iterator[str]:
    """Yield one sentence each about the best models, people, and their agreement."""
    for name, model in list(score.models.items())[:5]:
        standing, overall = model.standing, model.standing.overall
        interval = "" if overall.interval is None else f" ({between(overall.interval, 100)})"
        if overall.interval is None:
            verdict = "too few episodes for an interval"
        elif overall.interval.high < score.chance:
            verdict = "below chance"
        else:
            verdict = "above chance" if overall.interval.low > score.chance else "not above chance"
        levels = [
            f"{percent(standing.means[level].share)} {level}"
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
            form = f"; {unparsed}, {percent(model.among_letters)} of the others are right"
        yield f"{name}: {percent(overall.share)}{interval}, {verdict}; {listed(levels)}{direction}{form}."
    people = [model for name, model in score.models.items() if name.startswith(HUMAN)]
    if people:
        mean = sum(person.standing.overall.share for person in people) / len(people)
        yield f"{plural(len(people), 'person', 'people')}: {percent(mean)} on average."
    for agreement in score.agreement[:1]:
        yield (
            f"Annotators agree on {percent(agreement.observed)} of {plural(agreement.items, 'question')}; kappa "
            f"{agreement.even_kappa:.3f} with a chance of 1/4."
        )


def _overall_figure(score: Score) -> Drawing:
    marks = []
    for name, model in list(score.models.items())[:MOST]:
        overall = model.standing.overall
        texts = percent(overall.share), f"{model.standing.questions:,}"
        marks.append(Mark(name, overall.share, overall.interval, texts))

    caption = (
        "Mean over data sets of each kind, then over kinds, with 95 % intervals clustered by episode. "
        "The vertical line is chance."
    )
    return forest_drawing(
        "overall",
        "Overall accuracy",
        caption,
        {"": marks},
        along="right answers",
        heads=("mean", "n"),
        unit="share",
        zero=score.chance,
    )


def _accuracy_tables(score: Score) -> Iterator[Table]:
    def cell(mean: Mean | None) -> str | None:
        if mean is None:
            return None
        value = number(100 * mean.share)
        return value if mean.interval is None else f"{value} ({between(mean.interval, 100)})"

    parts, rows = (*PARTS, "lenient"), []
    for name, model in score.models.items():
        views = {"all views": model.standing, **model.views}
        for view, standing in views.items():
            means = standing.means | ({"lenient": model.lenient} if standing is model.standing else {})
            rows.append((name, view, standing.questions, *(cell(means.get(part)) for part in parts)))
    yield Table(
        "models",
        "Accuracy by level and direction",
        (*map(Column, ("model", "view")), Column("n", "count"), *(Column(f"{part}, %") for part in parts)),
        tuple(rows),
        "High: an instruction; mid: the signs of a motion; low: its numbers. Prediction asks for the outcome of an "
        "action, inference for the action between two states. Mean over data sets of each kind, then over kinds; in "
        f"brackets: 95 % intervals over episodes. Chance is {number(100 * score.chance, 0)} %. Lenient: overall, "
        "regardless of the form of a reply.",
    )
    yield from _results_table(
        "accuracy",
        "Accuracy by data set and kind",
        _per_model(score, lambda model: model.standing.accuracies),
        f"Kinds: {', '.join(QuestionKind)}. Wilson intervals, clustered by episode.",
    )
    if score.comparisons:
        yield Table.of("comparison", "Models on the same questions", score.comparisons, note=_PAIRED)


def _error_tables(score: Score) -> Iterator[Table]:
    rows: list[Keyed] = []
    for name, model in score.models.items():
        for level, components in model.components.items():
            dimensions = [
                part for part in model.dimensions[level] if part.component != "gripper" and part.questions
            ]
            rows += [((name, level, "all views"), errors) for errors in (*components, *dimensions)]
        for view, components in model.view_components.items():
            rows += [((name, "mid", view), errors) for errors in components]
    yield from _results_table(
        "components",
        "Errors by component of the action",
        rows,
        "n: questions that involve the component. Proportion: the rate divided by the sum of the three rates.",
        ("model", "level", "view"),
    )


def _check_tables(score: Score) -> Iterator[Table]:
    yield Table(
        "letters",
        "Frequencies of correct and of chosen letters",
        (Column("of"), *(Column(letter, "count") for letter in LETTERS), Column("chi-square p", "p")),
        tuple(
            (f"{name}: {letters.of}", *letters.counts, letters.p)
            for name, group in (("right", score.right_letters), ("chosen", score.chosen_letters))
            for letters in group
        ),
        "A small p means that the frequencies differ.",
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
    asked = [(name, model) for name, model in score.models.items() if model.asked_with]
    if asked:
        yield Table(
            "provenance",
            "Request settings",
            (
                *map(Column, ("model", "endpoint and parameters", "first answer", "last answer")),
                Column("tokens sent", "count"),
                Column("tokens received", "count"),
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


Keyed = tuple[tuple[str, ...], Result]
"""Values of the key columns of a table row, and the result in the other columns."""


def _per_model(score: Score, results: Callable[[ModelScore], Iterable[Result]]) -> list[Keyed]:
    return [((name,), result) for name, model in score.models.items() for result in results(model)]


def _results_table(
    name: str, title: str, rows: Sequence[Keyed], note: str, keys: Sequence[str] = ("model",)
) -> Iterator[Table]:
    """Yield a table of results with key columns before the declared ones; nothing if there are no rows."""
    if rows:
        declared = declared_columns(type(rows[0][1]))  # type: ignore[arg-type]  # classes are hashable
        values = tuple((*key, *(getattr(result, field) for field in declared)) for key, result in rows)
        yield Table(name, title, (*map(Column, keys), *declared.values()), values, note)
