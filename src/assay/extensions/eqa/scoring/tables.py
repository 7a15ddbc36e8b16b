"""The tables of the ActionEQA paper."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from assay.extensions.eqa.actions import ActionLevel
from assay.extensions.eqa.annotations import error_categories
from assay.extensions.eqa.leak import BASELINES
from assay.extensions.eqa.question import QuestionKind
from assay.extensions.eqa.scoring import results
from assay.extensions.eqa.scoring.accuracy import COMPONENTS, HUMAN
from assay.extensions.eqa.scoring.results import ReportData
from assay.extensions.eqa.scoring.score import ModelScore
from assay.extensions.eqa.views import action_of
from assay.measures.result import MeasureError
from assay.measures.views.table import Column, Kind, Table, Value
from assay.measures.views.wording import plural, signed

PERSPECTIVES = {"ego": "egocentric", "exo": "exocentric", "both": "combined"}
_PERCENT = "Percentage of correct answers."

Rows = list[tuple[Value, ...]]


def _columns(kind: Kind, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name, kind) for name in names)


def main_table(data: ReportData) -> Table:
    """Return the accuracy by data set and kind of question, with means; models come first and people last."""
    occurring = {(question.dataset, question.kind) for question in data.questions}
    kinds = {
        dataset: [kind for kind in QuestionKind if (dataset, kind) in occurring] for dataset in data.datasets
    }
    columns = [Column("type"), Column("model")]
    for dataset, members in kinds.items():
        columns += [Column(f"{dataset} {kind}", "share", bare=True) for kind in (*members, "avg.")]
    columns += [Column("overall", "share", bare=True), Column("rank", "count")]

    def row(kind: str, name: str, model: ModelScore, rank: int | None = None) -> tuple[Value, ...]:
        standing = data.standing(model)
        shares = {(accuracy.dataset, accuracy.kind): accuracy.share for accuracy in standing.accuracies}
        values: list[Value] = [kind, name]
        for dataset, members in kinds.items():
            own = [shares.get((dataset, kind)) for kind in members]
            values += [*own, results.mean_of(own)]
        return (*values, standing.overall.share if standing.questions else None, rank)

    ranks = {name: place for place, (name, _) in enumerate(data.best_models(), 1)}
    models = sorted(data.models.items(), key=lambda model: ranks.get(model[0], len(ranks) + 1))
    rows = [row(data.fact(name).type, name, model, ranks.get(name)) for name, model in models]
    rows.sort(key=lambda row: str(row[0]))
    rows.append(
        ("mean", f"of {plural(len(ranks), 'model')}", *results.means_of([row[2:-1] for row in rows]), None)
    )
    baselines = {name: model for name, model in data.score.models.items() if name in BASELINES}
    rows += [row("baseline", name, model) for name, model in baselines.items()]
    people = [row("people", name.removeprefix(HUMAN), person) for name, person in data.people.items()]
    rows += people
    if len(people) > 1:
        rows.append(("people", "mean", *results.means_of([person[2:-1] for person in people]), None))
    note = f"{_PERCENT} View: {data.main_view}. Overall: mean over data sets for each kind, then over kinds."
    return Table("main", "Models, data sets and kinds", tuple(columns), tuple(rows), note)


def consistency_table(data: ReportData) -> Table:
    """Return the mean accuracy of each model on each data set, and the range of these means."""
    datasets = data.datasets
    if len(datasets) < 2:
        raise MeasureError("requires questions from at least two data sets")
    shared = [
        kind
        for kind in QuestionKind
        if {question.dataset for question in data.questions if question.kind is kind} == set(datasets)
    ]
    rows: Rows = []
    for name, model in data.models.items():
        cells = [accuracy for accuracy in data.standing(model).accuracies if accuracy.kind in shared]
        means = [
            results.mean_of([cell.share for cell in cells if cell.dataset == dataset]) for dataset in datasets
        ]
        present = [mean for mean in means if mean is not None]
        if present:
            rows.append((name, *means, max(present) - min(present) if len(present) > 1 else None))
    columns = (
        Column("model"),
        *_columns("share", *datasets),
        Column("largest minus smallest", "change"),
    )
    note = f"Means over the kinds of question common to all data sets: {', '.join(shared)}."
    return Table("consistency", "By data set", columns, tuple(rows), note)


def cameras_table(data: ReportData) -> Table:
    """Return the accuracy on shared items by question kind and number of static cameras, per model and overall."""
    views = data.several_views(results.STATIC_VIEWS)

    def row(name: str, label: str, shares: Sequence[float | None]) -> tuple[Value, ...]:
        highest = max(share for share in shares if share is not None)
        best = [
            f"{results.camera_count(view)}V"
            for view, share in zip(views, shares, strict=True)
            if share is not None and share == highest
        ]
        return (name, label, *shares, ", ".join(best))

    rows: Rows = []
    by_kind: dict[QuestionKind, list[list[float | None]]] = {kind: [] for kind in QuestionKind}
    for name, model in data.models.items():
        by_view = {view: data.shares_by_kind(model, view) for view in views}
        for kind in QuestionKind:
            shares = [by_view[view].get(kind) for view in views]
            if any(share is not None for share in shares):
                rows.append(row(name, str(kind), shares))
                by_kind[kind].append(shares)
        if any(by_view.values()):
            rows.append(
                row(name, "average", [results.mean_of(list(by_view[view].values())) for view in views])
            )
    rows += [
        row("mean of models", str(kind), results.means_of(shares))
        for kind, shares in by_kind.items()
        if shares
    ]
    counts = _columns("share", *(f"{results.camera_count(view)}V" for view in views))
    columns = (*_columns("text", "model", "kind"), *counts, Column("best"))
    return Table("views", "Static cameras", columns, tuple(rows), f"{_PERCENT} Means over data sets.")


def perspectives_table(data: ReportData) -> Table:
    """Return the accuracy by question kind and camera perspective, per model and on average."""
    views = data.several_views(tuple(PERSPECTIVES))
    rows: Rows = []
    for name, model in data.models.items():
        for view in views:
            shares = data.shares_by_kind(model, view)
            values = [shares.get(kind) for kind in QuestionKind]
            rows.append((name, PERSPECTIVES[view], *values, results.mean_of(list(shares.values()))))
    for view in views:
        own = [row[2:] for row in rows if row[1] == PERSPECTIVES[view]]
        rows.append(("mean of models", PERSPECTIVES[view], *results.means_of(own)))
    columns = (*_columns("text", "model", "view"), *_columns("share", *QuestionKind, "average"))
    return Table("perspectives", "Perspectives", columns, tuple(rows), f"{_PERCENT} Means over data sets.")


def view_value_table(data: ReportData) -> Table:
    """Return the accuracy of each view (mean over models), the best single view, and the gain from using both."""
    views = data.several_views(tuple(PERSPECTIVES))
    if set(views) != set(PERSPECTIVES):
        raise MeasureError("requires the views ego, exo and both")
    rows: Rows = []
    for kind in QuestionKind:
        means = [
            results.mean_of([data.shares_by_kind(model, view).get(kind) for model in data.models.values()])
            for view in PERSPECTIVES
        ]
        if any(mean is None for mean in means):
            continue
        ego, exo, both = (float(mean or 0.0) for mean in means)
        best = f"{'egocentric' if ego >= exo else 'exocentric'} ({signed(100 * abs(ego - exo))})"
        rows.append((kind.direction, str(kind.level), ego, exo, both, best, both - max(ego, exo)))
    shares = _columns("share", *PERSPECTIVES.values())
    gain = Column("combined minus best", "change")
    columns = (*_columns("text", "direction", "level"), *shares, Column("best single view"), gain)
    return Table("worth", "Value of the views", columns, tuple(rows), "Means over models.")


def proportions_table(data: ReportData) -> Table:
    """Return each component's normalised share of the errors in mid-level questions, by model and view."""
    rows: Rows = []
    for name, model in data.models.items():
        own = []
        for view in data.score.views:
            if errors := data.mid_level_errors(model, view):
                own.append([part.proportion for part in errors])
                rates = [value for part in errors for value in (part.questions, part.rate, part.interval)]
                rows.append((name, view, *own[-1], *rates))
        if len(own) > 1:
            rows.append((name, "average", *results.means_of(own), *[None] * (3 * len(COMPONENTS))))
    if not rows:
        raise MeasureError("requires wrong answers to mid-level questions")
    columns = [*_columns("text", "model", "view"), *_columns("share", *COMPONENTS)]
    for name in COMPONENTS:
        columns += [
            Column(f"{name}: n", "count"),
            *_columns("share", f"{name}: error rate", "95 % interval"),
        ]
    note = "Error rates on mid-level questions that involve each component, normalised to sum to 1."
    return Table("proportions", "Error proportions", tuple(columns), tuple(rows), note)


def mean_proportions_table(data: ReportData) -> Table:
    """Return each component's normalised share of the errors in mid-level questions by view (mean over models)."""
    rows: Rows = [(view, *shares) for view, shares in data.mean_proportions(data.score.views).items()]
    if len(rows) > 1:
        rows.append(("average", *results.means_of([row[1:] for row in rows])))
    columns = (Column("view"), *_columns("share", *COMPONENTS))
    return Table(
        "proportions",
        "Mean over models",
        columns,
        tuple(rows),
        "The proportions of Table 11, averaged over models.",
    )


def mistakes_table(data: ReportData) -> Table:
    """Return the count and proportion of every error category for each level and direction of questions."""
    kinds = {(str(kind.level), kind.direction): str(kind) for kind in QuestionKind}
    counts: Counter[tuple[str, str]] = Counter()
    for mistake in data.score.mistakes:
        counts[mistake.category, kinds[mistake.level, mistake.direction]] += mistake.count
    if not counts:
        raise MeasureError(results.NEEDS_MARKS)
    totals = {str(kind): sum(n for (_, own), n in counts.items() if own == kind) for kind in QuestionKind}
    rows: Rows = []
    for name, category in error_categories().items():
        shares = [counts[name, kind] / total if total else None for kind, total in totals.items()]
        marked = sum(counts[name, kind] for kind in totals)
        rows.append((category.group, category.part, name, marked, *shares))
    rows.append(("all", "", "", sum(totals.values()), *(1.0 if total else None for total in totals.values())))
    names = _columns("text", "group", "part", "kind of mistake")
    columns = (*names, Column("marked", "count"), *_columns("share", *totals))
    sizes = ", ".join(f"{kind} {total}" for kind, total in totals.items())
    note = f"Proportions of the categorised mistakes on each kind of question: {sizes}."
    return Table("mistakes", "Error categories", columns, tuple(rows), note)


def verbs_table(data: ReportData) -> Table:
    """Return the frequencies of the first words of each data set's instructions."""
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for question in data.questions:
        if question.kind.level is ActionLevel.HIGH:
            text = action_of(question.text) if question.kind.predicts else question.options[question.right]
            texts[question.dataset].add(text.lower())
    if not texts:
        raise MeasureError("requires high-level questions")
    rows = []
    for dataset, instructions in sorted(texts.items()):
        verbs = Counter(text.split()[0] for text in sorted(instructions) if text.split())
        shown = ", ".join(f"{verb} ({count})" for verb, count in verbs.most_common())
        rows.append((dataset, shown, len(instructions)))
    columns = (Column("data set"), Column("verbs (instructions)"), Column("instructions", "count"))
    note = "First words of the distinct instructions that the robot carried out."
    return Table("verbs", "Verbs", columns, tuple(rows), note)


def statistics_table(data: ReportData) -> Table:
    """Return the numbers of questions, items, images and episodes in each data set."""
    rows: Rows = []
    for name in (*data.datasets, "all"):
        own = [question for question in data.questions if name in (question.dataset, "all")]
        images = {file for question in own for file in question.images}
        items = {question.item for question in own}
        episodes = {(question.dataset, question.episode) for question in own}
        rows.append((name, len(own), len(items), len(images), len(episodes)))
    columns = (Column("data set"), *_columns("count", "questions", "items", "images", "episodes"))
    return Table(
        "statistics",
        "Statistics",
        columns,
        tuple(rows),
        "An item is a question irrespective of the camera view.",
    )


def counts_table(data: ReportData) -> Table:
    """Return the number of questions in each data set by question level and direction."""
    counts = Counter((question.dataset, question.kind) for question in data.questions)
    rows: Rows = []
    for name in data.datasets:
        own = [counts[name, kind] for kind in QuestionKind]
        rows.append((name, *own, sum(own)))
    columns = (Column("data set"), *_columns("count", *QuestionKind, "all"))
    return Table("counts", "Questions", columns, tuple(rows))


TABLES: Mapping[str, tuple[str, Callable[[ReportData], Table]]] = {
    "Table 1": ("Models, data sets and kinds", main_table),
    "Section C.4": ("Consistency across data sets", consistency_table),
    "Table 2": ("One to four static cameras", cameras_table),
    "Table 3": ("Wrist camera, static camera, and both", perspectives_table),
    "Table 4": ("Value of the wrist camera and of both cameras", view_value_table),
    "Table 11": ("Normalised error proportions by view", proportions_table),
    "Table 12": ("Normalised error proportions, averaged over models", mean_proportions_table),
    "Table 13": ("Error categories in full", mistakes_table),
    "Table 7": ("Verbs of the instructions", verbs_table),
    "Table 8": ("Questions, images and episodes", statistics_table),
    "Table 9": ("Questions by level and direction", counts_table),
}
"""Label of each table in the paper -> its title and the function that computes it."""
