"""The tables and figures of ActionEQA, made from one's own answers: ``assay eqa score ... --paper actioneqa``.

Shares are means over data sets of each kind, as in the paper; the main view is one camera outside, where there are
several views. Averages over models leave people and baselines out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import yaml
from matplotlib.figure import Figure

from assay.eqa.actions import Level
from assay.eqa.annotations import categories
from assay.eqa.baselines import BASELINES
from assay.eqa.errors import QuestionError
from assay.eqa.question import Kind, Question
from assay.eqa.scoring.accuracy import Standing
from assay.eqa.scoring.errors import Component
from assay.eqa.scoring.score import ModelScore, Score
from assay.eqa.scoring.sheet import COMPONENTS, HUMAN
from assay.eqa.wording import action_of
from assay.measures.result import MeasureError
from assay.report.papers.base import Paper, PaperSection, exhibit
from assay.report.papers.page import PaperReport
from assay.report.style import FAINT, HALF, SERIES, WIDTH, Drawing, draw, percent_axis, series, share_limits
from assay.report.table import Column, Table, Value
from assay.report.wording import plural, signed

PAPER = "actioneqa"
ABOUT = "ActionEQA: Action Interface for Embodied Question Answering"
OUTSIDE = ("exo", "exo2", "exo3", "exo4")
PERSPECTIVES = {"ego": "egocentric", "exo": "exocentric", "both": "combined"}
SHOWN = 5
"""Models in a figure of several."""
_SHARE = "Percent of right answers."


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a model besides its answers."""

    open: bool | None = None
    """Whether its weights are public; None where nobody says."""
    size: float | None = None
    """Billions of parameters."""
    family: str = ""


@dataclass(frozen=True)
class Results:
    """Everything the tables are made from."""

    score: Score
    questions: Sequence[Question]
    facts: Mapping[str, Facts]

    @property
    def models(self) -> dict[str, ModelScore]:
        """Models alone, the best first: no people, no baselines."""
        found = {
            name: each
            for name, each in self.score.models.items()
            if not name.startswith(HUMAN) and name not in BASELINES
        }
        if not found:
            raise MeasureError("needs answers of a model")
        return found

    @property
    def people(self) -> dict[str, ModelScore]:
        """Annotators."""
        return {name: each for name, each in self.score.models.items() if name.startswith(HUMAN)}

    @property
    def main_view(self) -> str:
        """One camera outside where there is one, or else the only view, or the first."""
        return "exo" if "exo" in self.score.views else self.score.views[0]

    def standing(self, each: ModelScore, view: str = "") -> Standing | None:
        """How a model stands in one view, the main one if none is named; None where it has no answers in it."""
        if len(self.score.views) == 1:
            return each.standing if (view or self.main_view) in self.score.views else None
        return each.views.get(view or self.main_view)

    def fact(self, name: str) -> Facts:
        """What is known about a model, by its name with or without the style of its prompt."""
        return self.facts.get(name) or self.facts.get(name.rpartition(" (")[0]) or Facts()


def read_facts(path: Path) -> dict[str, Facts]:
    """Facts about models from a YAML file: name -> open, size (billions of parameters), family."""
    try:
        told = yaml.safe_load(path.read_text(encoding="utf-8"))
        return {str(name): Facts(**each) for name, each in told.items()}
    except (OSError, UnicodeDecodeError, yaml.YAMLError, TypeError, AttributeError) as error:
        why = " ".join(str(error).split())[:150]
        raise QuestionError(
            f"{path}: not facts about models (NAME: {{open: true, size: 7, family: Qwen}}): {why}"
        ) from None


def report(score: Score, questions: Sequence[Question], facts: Mapping[str, Facts]) -> PaperReport:
    """The paper's tables and figures, as far as answers can give them."""
    results = Results(score, questions, facts)
    about = tuple((name, f"{each.standing.questions:,} answers") for name, each in score.models.items())
    return PaperReport(
        Paper(PAPER, ABOUT, lambda runs: ()),
        about,
        tuple(_sections(results)),
        made_from=f"answers to {plural(score.questions, 'question')}",
    )


def _sections(results: Results) -> Iterator[PaperSection]:
    yield PaperSection(
        "Performance",
        "How often each model is right, by data set and kind.",
        (
            exhibit("Table 1", "Models, data sets and kinds", main_table, results),
            exhibit("Figure 5", "The best models against people", best_figures, results),
            exhibit("Figure 20", "The best models across the six kinds", kinds_figure, results),
            exhibit("Figure 19", "Performance and size", size_figure, results),
            exhibit("Section 3.2", "Inference against prediction, and levels", asymmetry_table, results),
            exhibit("Section C.4", "Consistency across data sets", consistency_table, results),
        ),
    )
    yield PaperSection(
        "Views",
        "The same items, seen by more cameras or from elsewhere.",
        (
            exhibit("Table 2", "One to four cameras outside", cameras_table, results),
            exhibit(
                "Figure 6",
                "One to four cameras outside: overall, and what errors are about",
                camera_figures,
                results,
            ),
            exhibit("Table 3", "The hand's camera, one outside, and both", perspectives_table, results),
            exhibit("Table 4", "What the hand's camera and both are worth", worth_table, results),
        ),
    )
    yield PaperSection(
        "Errors",
        "What errors are about, and which kind of mistake they are.",
        (
            exhibit("Table 11", "Normalised error proportions by view", proportions_table, results),
            exhibit("Table 12", "The same, mean over models", mean_proportions_table, results),
            exhibit("Figure 7", "Kinds of mistakes by level", mistakes_figure, results),
            exhibit("Table 13", "Kinds of mistakes in full", mistakes_table, results),
        ),
    )
    yield PaperSection(
        "The questions",
        "What is asked.",
        (
            exhibit("Table 7", "Verbs of the instructions", verbs_table, results),
            exhibit("Table 8", "Questions, images and episodes", statistics_table, results),
            exhibit("Table 9", "Questions by level and direction", counts_table, results),
            exhibit("Figure 3", "Questions by kind and data set", counts_figure, results),
        ),
    )


def main_table(results: Results) -> Table:
    """Every model's shares by data set and kind, data sets' averages and the overall mean; people last."""
    cells = [
        (dataset, kind)
        for dataset in sorted({each.dataset for each in results.questions})
        for kind in Kind
        if any((each.dataset, each.kind) == (dataset, kind) for each in results.questions)
    ]
    datasets = list(dict.fromkeys(dataset for dataset, _ in cells))
    columns = [Column("type"), Column("model")]
    for dataset in datasets:
        columns += [
            Column(f"{dataset} {kind}", "share", bare=True) for name, kind in cells if name == dataset
        ]
        columns.append(Column(f"{dataset} avg.", "share", bare=True))
    columns += [Column("overall", "share", bare=True), Column("rank", "count")]

    def row(kind: str, name: str, each: ModelScore, rank: int | None) -> tuple[Value, ...]:
        found = results.standing(each)
        shares = {} if found is None else _cells(found)
        values: list[Value] = [kind, name]
        for dataset in datasets:
            mine = [shares.get(cell) for cell in cells if cell[0] == dataset]
            there = [value for value in mine if value is not None]
            values += [*mine, float(np.mean(there)) if there else None]
        return (*values, None if found is None else found.overall.share, rank)

    ranks = {name: place for place, (name, _) in enumerate(_best(results), 1)}
    models = sorted(results.models.items(), key=lambda each: ranks.get(each[0], len(ranks) + 1))
    rows = [row(_type(results.fact(name)), name, each, ranks.get(name)) for name, each in models]
    rows.sort(key=lambda each: str(each[0]))
    rows.append(("mean", f"of {plural(len(ranks), 'model')}", *_means([each[2:-1] for each in rows]), None))
    rows += [
        row("baseline", name, each, None) for name, each in results.score.models.items() if name in BASELINES
    ]
    people = [row("people", name.removeprefix(HUMAN), each, None) for name, each in results.people.items()]
    rows += people
    if len(people) > 1:
        rows.append(("people", "mean", *_means([each[2:-1] for each in people]), None))
    note = f"{_SHARE} View: {results.main_view}. Overall: mean over data sets of each kind, then over kinds."
    return Table("main", "Models, data sets and kinds", tuple(columns), tuple(rows), note)


def best_figures(results: Results) -> Iterator[Drawing]:
    """By kind, the best models and people; and the best open and proprietary models overall."""
    rows = {name: _by_kind(results, each) for name, each in _best(results)[:SHOWN]}
    if results.people:
        rows["people, mean"] = _mean_by_kind(results, list(results.people.values()))
    yield _by_kinds("kinds", f"The best {SHOWN} models and people, by kind", rows, results.score.chance)
    known = [(name, each) for name, each in _best(results) if results.fact(name).open is not None]
    if not known:
        raise MeasureError("(b) needs to know which models are open: --facts FILE")
    kept = [
        (name, _overall(results, each), is_open)
        for is_open in (True, False)
        for name, each in [pair for pair in known if results.fact(pair[0]).open is is_open][:SHOWN]
    ]
    kept.sort(key=lambda each: each[1])

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        colours = [SERIES[0] if is_open else SERIES[1] for _, _, is_open in kept]
        axes.barh(range(len(kept)), [share for _, share, _ in kept], color=colours)
        axes.set_yticks(range(len(kept)), [name[:34] for name, _, _ in kept])
        axes.axvline(results.score.chance, color=FAINT, linewidth=0.9, linestyle="--")
        axes.set_xlim(0, 1)
        percent_axis(axes.xaxis)
        for place, (_, share, _) in enumerate(kept):
            axes.text(share + 0.01, place, f"{100 * share:.1f}", va="center", fontsize=7)

    caption = "Blue: open weights; orange: proprietary. Overall means; the dashed line is chance."
    yield draw("open", "Open and proprietary models", caption, (HALF, 1.0 + 0.26 * len(kept)), paint)


def kinds_figure(results: Results) -> Drawing:
    """The best models by kind, mean over data sets."""
    rows = {name: _by_kind(results, each) for name, each in _best(results)[: len(SERIES)]}
    return _by_kinds("kinds", "The best models by kind, mean over data sets", rows, results.score.chance)


def size_figure(results: Results) -> Drawing:
    """Overall mean against the number of parameters, a line for each family."""
    families: defaultdict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for name, each in results.models.items():
        fact = results.fact(name)
        if fact.size is not None and results.standing(each) is not None:
            families[fact.family or name].append((fact.size, _overall(results, each), name))
    if not families:
        raise MeasureError("needs the sizes of models: --facts FILE")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (family, points) in enumerate(sorted(families.items())[: len(SERIES)]):
            points.sort()
            axes.plot(
                [each[0] for each in points], [each[1] for each in points], label=family[:30], **series(place)
            )
        axes.set_xscale("log")
        sizes = sorted({size for points in families.values() for size, _, _ in points})
        axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("parameters, billions")
        axes.axhline(results.score.chance, color=FAINT, linewidth=0.9, linestyle="--")
        share_limits(axes)
        axes.legend(loc="best")

    caption = "Overall means; the dashed line is chance."
    return draw("size", "Performance and size", caption, (HALF, 3.4), paint)


def asymmetry_table(results: Results) -> Table:
    """Means by level and direction, and inference less prediction with its interval."""
    rows: list[tuple[Value, ...]] = []
    for name, each in (*results.models.items(), *results.people.items()):
        found = results.standing(each)
        if found is not None:
            gap = found.asymmetry.get("overall")
            parts = ("high", "mid", "low", "prediction", "inference")
            shares = [found.means[part].share if part in found.means else None for part in parts]
            rows.append((name, *shares, gap.share if gap else None, gap.interval if gap else None))
    columns = (
        Column("model"),
        *(Column(part, "share") for part in ("high", "mid", "low", "prediction", "inference")),
        Column("inference less prediction", "change"),
        Column("95 % interval", "change"),
    )
    return Table(
        "asymmetry", "Levels and directions", columns, tuple(rows), "Mean over data sets, then over kinds."
    )


def consistency_table(results: Results) -> Table:
    """Each model's averages over data sets, and how far they lie apart."""
    datasets = sorted({each.dataset for each in results.questions})
    if len(datasets) < 2:
        raise MeasureError("needs questions from two data sets")
    shared = [
        kind
        for kind in Kind
        if {each.dataset for each in results.questions if each.kind is kind} == set(datasets)
    ]
    rows: list[tuple[Value, ...]] = []
    for name, each in results.models.items():
        found = results.standing(each)
        if found is not None:
            shares = _cells(found)
            means = [_mean([shares.get((dataset, kind)) for kind in shared]) for dataset in datasets]
            known = [mean for mean in means if mean is not None]
            rows.append((name, *means, max(known) - min(known) if len(known) > 1 else None))
    columns = (
        Column("model"),
        *(Column(each, "share") for each in datasets),
        Column("largest less smallest", "change"),
    )
    return Table(
        "consistency",
        "By data set",
        columns,
        tuple(rows),
        f"Over the kinds that all have: {', '.join(shared)}.",
    )


def cameras_table(results: Results) -> Table:
    """Kinds by the number of cameras outside, model by model, on the same items."""
    views = _several(results, OUTSIDE, "one and more cameras outside (--views exo,exo2,exo3,exo4)")
    rows: list[tuple[Value, ...]] = []
    everybody: dict[str, list[list[float | None]]] = {str(kind): [] for kind in Kind}
    for name, each in results.models.items():
        by_view = {view: _by_kind(results, each, view) for view in views}
        for kind in Kind:
            shares = [by_view[view].get(kind) for view in views]
            if any(share is not None for share in shares):
                rows.append((name, str(kind), *shares, _top(views, shares)))
                everybody[str(kind)].append(shares)
        if any(by_view.values()):
            means = [_mean(list(by_view[view].values())) for view in views]
            rows.append((name, "average", *means, _top(views, means)))
    for label, found in everybody.items():
        if found:
            shares = _means(found)
            rows.append(("mean of models", label, *shares, _top(views, shares)))
    columns = (
        *(Column("model"), Column("kind")),
        *(Column(f"{_count(view)}V", "share") for view in views),
        Column("best"),
    )
    return Table("views", "Cameras outside", columns, tuple(rows), f"{_SHARE} Means over data sets.")


def camera_figures(results: Results) -> Iterator[Drawing]:
    """Overall against the number of cameras; and what mid-level errors are about, mean over models."""
    views = _several(results, OUTSIDE, "one and more cameras outside (--views exo,exo2,exo3,exo4)")

    def lines(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (name, each) in enumerate(_best(results)[: len(SERIES)]):
            points = [(_count(view), _overall(results, each, view)) for view in views]
            axes.plot([x for x, _ in points], [y for _, y in points], label=name[:34], **series(place))
        axes.set_xticks([_count(view) for view in views])
        axes.set_xlabel("cameras outside")
        axes.axhline(results.score.chance, color=FAINT, linewidth=0.9, linestyle="--")
        share_limits(axes)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)

    yield draw("views", "Overall by cameras outside", "The dashed line is chance.", (HALF, 3.8), lines)
    found = _mean_proportions(results, views)

    def stacks(figure: Figure) -> None:
        axes = figure.subplots()
        low = np.zeros(len(found))
        for place, component in enumerate(COMPONENTS):
            shares = np.array([each[place] for each in found.values()])
            axes.bar(range(len(found)), shares, bottom=low, color=SERIES[place], label=component, width=0.6)
            for x, (share, bottom) in enumerate(zip(shares, low, strict=True)):
                axes.text(
                    x,
                    bottom + share / 2,
                    f"{100 * share:.1f}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white",
                )
            low = low + shares
        axes.set_xticks(
            range(len(found)), [f"{_count(view)} views"[: 6 + (_count(view) > 1)] for view in found]
        )
        axes.set_ylim(0, 1)
        percent_axis(axes.yaxis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    caption = "Mid level, mean over models: error rates of questions with each component, each in their sum."
    yield draw("components", "What errors are about", caption, (HALF, 3.4), stacks)


def perspectives_table(results: Results) -> Table:
    """Kinds by perspective, model by model, and the mean over models."""
    views = _several(
        results, tuple(PERSPECTIVES), "the hand's camera, one outside and both (--views ego,exo,both)"
    )
    rows: list[tuple[Value, ...]] = []
    for name, each in results.models.items():
        for view in views:
            shares = _by_kind(results, each, view)
            rows.append(
                (name, PERSPECTIVES[view], *(shares.get(kind) for kind in Kind), _mean(list(shares.values())))
            )
    for view in views:
        found = [row[2:] for row in rows if row[1] == PERSPECTIVES[view]]
        rows.append(("mean of models", PERSPECTIVES[view], *_means(found)))
    columns = (
        Column("model"),
        Column("view"),
        *(Column(str(kind), "share") for kind in Kind),
        Column("average", "share"),
    )
    return Table("perspectives", "Perspectives", columns, tuple(rows), f"{_SHARE} Means over data sets.")


def worth_table(results: Results) -> Table:
    """Means over models: the best single view, and both against it."""
    views = _several(
        results, tuple(PERSPECTIVES), "the hand's camera, one outside and both (--views ego,exo,both)"
    )
    if set(views) != set(PERSPECTIVES):
        raise MeasureError("needs all three of ego, exo and both")
    rows: list[tuple[Value, ...]] = []
    for predicts, level in product((True, False), Level):
        kind = next(each for each in Kind if each.predicts is predicts and each.level is level)
        means = [
            _mean([_by_kind(results, each, view).get(kind) for each in results.models.values()])
            for view in PERSPECTIVES
        ]
        if any(mean is None for mean in means):
            continue
        ego, exo, both = (float(mean or 0.0) for mean in means)
        best = f"{'egocentric' if ego >= exo else 'exocentric'} ({signed(100 * abs(ego - exo))})"
        rows.append(
            (
                "prediction" if predicts else "inference",
                str(level),
                ego,
                exo,
                both,
                best,
                both - max(ego, exo),
            )
        )
    columns = (
        *map(Column, ("direction", "level")),
        *(Column(name, "share") for name in PERSPECTIVES.values()),
        *(Column("best single view"), Column("combined less best", "change")),
    )
    return Table("worth", "What views are worth", columns, tuple(rows), "Means over models.")


def proportions_table(results: Results) -> Table:
    """Normalised error proportions at the mid level, by model and view."""
    rows: list[tuple[Value, ...]] = []
    for name, each in results.models.items():
        mine = []
        for view in results.score.views:
            parts = _components(results, each, view)
            if parts and parts[0].proportion is not None:
                mine.append(tuple(part.proportion for part in parts))
                rates = [value for part in parts for value in (part.questions, part.rate, part.interval)]
                rows.append((name, view, *mine[-1], *rates))
        if len(mine) > 1:
            rows.append((name, "average", *_means(mine), *[None] * (3 * len(COMPONENTS))))
    if not rows:
        raise MeasureError("needs wrong answers at the mid level")
    columns = [Column("model"), Column("view"), *(Column(name, "share") for name in COMPONENTS)]
    for name in COMPONENTS:
        columns += [
            Column(f"{name}: n", "count"),
            Column(f"{name}: error rate", "share"),
            Column("95 % interval", "share"),
        ]
    note = "Errors per question whose action has the component, each rate in the sum of the three; mid level."
    return Table("proportions", "Error proportions", tuple(columns), tuple(rows), note)


def mean_proportions_table(results: Results) -> Table:
    """Normalised error proportions at the mid level by view, mean over models."""
    rows: list[tuple[Value, ...]] = [
        (view, *shares) for view, shares in _mean_proportions(results, results.score.views).items()
    ]
    if len(rows) > 1:
        rows.append(("average", *_means([row[1:] for row in rows])))
    columns = (Column("view"), *(Column(name, "share") for name in COMPONENTS))
    return Table("proportions", "Mean over models", columns, tuple(rows), "As Table 11.")


def mistakes_figure(results: Results) -> Drawing:
    """Shares of the taxonomy's two groups and four parts at each level."""
    parts = [(group, part) for group, each in categories().items() for part in each]
    counts: Counter[tuple[str, str]] = Counter()
    for each in results.score.mistakes:
        counts[each.level, each.part] += each.count
    levels = [str(level) for level in Level if any(counts[str(level), part] for _, part in parts)]
    if not levels:
        raise MeasureError("needs marked mistakes: assay eqa judge, or assay eqa annotate --answers")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        low = np.zeros(len(levels))
        for place, (group, part) in enumerate(parts):
            totals = [sum(counts[level, each] for _, each in parts) for level in levels]
            shares = np.array(
                [counts[level, part] / total for level, total in zip(levels, totals, strict=True)]
            )
            axes.bar(
                range(len(levels)),
                shares,
                bottom=low,
                color=SERIES[place],
                label=f"{group}: {part}",
                width=0.6,
            )
            for x, (share, bottom) in enumerate(zip(shares, low, strict=True)):
                if share >= 0.05:
                    axes.text(
                        x,
                        bottom + share / 2,
                        f"{100 * share:.0f} %",
                        ha="center",
                        va="center",
                        fontsize=7,
                        color="white",
                    )
            low = low + shares
        sizes = [sum(counts[level, part] for _, part in parts) for level in levels]
        axes.set_xticks(
            range(len(levels)), [f"{level} (n = {size})" for level, size in zip(levels, sizes, strict=True)]
        )
        axes.set_ylim(0, 1)
        percent_axis(axes.yaxis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=7)

    return draw(
        "mistakes",
        "Kinds of mistakes by level",
        "Of all that were marked, by hand or by a judge.",
        (WIDTH, 3.6),
        paint,
    )


def mistakes_table(results: Results) -> Table:
    """Every kind of mistake with its count and share at each level and direction."""
    ways = {(str(kind.level), "prediction" if kind.predicts else "inference"): str(kind) for kind in Kind}
    counts: Counter[tuple[str, str]] = Counter()
    for each in results.score.mistakes:
        counts[each.category, ways[each.level, each.direction]] += each.count
    if not counts:
        raise MeasureError("needs marked mistakes: assay eqa judge, or assay eqa annotate --answers")
    totals = {str(kind): sum(count for key, count in counts.items() if key[1] == kind) for kind in Kind}
    rows: list[tuple[Value, ...]] = []
    for group, parts in categories().items():
        for part, members in parts.items():
            for name in members:
                mine = {kind: counts[name, kind] for kind in totals}
                shares = [mine[kind] / total if total else None for kind, total in totals.items()]
                rows.append((group, part, name, sum(mine.values()), *shares))
    everything = [1.0 if total else None for total in totals.values()]
    rows.append(("all", "", "", sum(totals.values()), *everything))
    columns = (
        *map(Column, ("group", "part", "kind of mistake")),
        Column("marked", "count"),
        *(Column(kind, "share") for kind in totals),
    )
    marked = ", ".join(f"{kind} {total}" for kind, total in totals.items())
    note = f"Shares of what was marked of each kind of question: {marked}."
    return Table("mistakes", "Kinds of mistakes", columns, tuple(rows), note)


def verbs_table(results: Results) -> Table:
    """The verbs that instructions of each data set begin with."""
    verbs: defaultdict[str, Counter[str]] = defaultdict(Counter)
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for each in results.questions:
        if each.kind.level is Level.HIGH:
            text = action_of(each.text) if each.kind.predicts else each.options[each.right]
            texts[each.dataset].add(text.lower())
    for dataset, found in texts.items():
        verbs[dataset].update(text.split()[0] for text in found if text.split())
    if not verbs:
        raise MeasureError("needs questions of the high level")
    rows = [
        (name, ", ".join(f"{verb} ({count})" for verb, count in found.most_common()), len(texts[name]))
        for name, found in sorted(verbs.items())
    ]
    columns = (Column("data set"), Column("verbs (instructions)"), Column("instructions", "count"))
    return Table(
        "verbs", "Verbs", columns, tuple(rows), "First words of different instructions that were carried out."
    )


def statistics_table(results: Results) -> Table:
    """Questions, different images and different episodes of each data set."""
    rows: list[tuple[Value, ...]] = []
    for name in (*sorted({each.dataset for each in results.questions}), "all"):
        mine = [each for each in results.questions if name in (each.dataset, "all")]
        pictures = {file for each in mine for file in (*each.pictures, *each.option_pictures)}
        episodes = {(each.dataset, each.episode) for each in mine}
        rows.append((name, len(mine), len({each.item for each in mine}), len(pictures), len(episodes)))
    columns = (
        Column("data set"),
        *(Column(name, "count") for name in ("questions", "items", "images", "episodes")),
    )
    return Table(
        "statistics",
        "Statistics",
        columns,
        tuple(rows),
        "An item is a question, whatever views it is asked in.",
    )


def counts_table(results: Results) -> Table:
    """Questions of each data set by level and direction."""
    counts = Counter((each.dataset, each.kind) for each in results.questions)
    rows: list[tuple[Value, ...]] = [
        (name, *(counts[name, kind] for kind in Kind), sum(counts[name, kind] for kind in Kind))
        for name in sorted({dataset for dataset, _ in counts})
    ]
    columns = (Column("data set"), *(Column(str(kind), "count") for kind in Kind), Column("all", "count"))
    return Table("counts", "Questions", columns, tuple(rows))


def counts_figure(results: Results) -> Drawing:
    """Questions by kind, stacked by data set."""
    counts = Counter((each.dataset, each.kind) for each in results.questions)
    datasets = sorted({dataset for dataset, _ in counts})

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        low = np.zeros(len(Kind))
        for place, dataset in enumerate(datasets):
            sizes = np.array([counts[dataset, kind] for kind in Kind])
            axes.bar(
                range(len(Kind)),
                sizes,
                bottom=low,
                color=SERIES[place % len(SERIES)],
                label=dataset[:30],
                width=0.65,
            )
            low = low + sizes
        axes.set_xticks(range(len(Kind)), list(map(str, Kind)))
        axes.set_ylabel("questions")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    return draw("counts", "Questions by kind and data set", "All views counted.", (HALF, 3.0), paint)


def _by_kinds(name: str, title: str, rows: Mapping[str, Mapping[Kind, float]], chance: float) -> Drawing:
    """Grouped bars: kinds along the axis, a bar for each model."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        width = 0.82 / len(rows)
        for place, (model, shares) in enumerate(rows.items()):
            there = [kind for kind in Kind if kind in shares]
            left = [list(Kind).index(kind) + (place - (len(rows) - 1) / 2) * width for kind in there]
            axes.bar(
                left,
                [shares[kind] for kind in there],
                width,
                color=SERIES[place % len(SERIES)],
                label=model[:34],
            )
        axes.axhline(chance, color=FAINT, linewidth=0.9, linestyle="--")
        axes.set_xticks(range(len(Kind)), list(map(str, Kind)))
        axes.set_ylim(0, 1)
        percent_axis(axes.yaxis)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)

    caption = "Mean over data sets; the dashed line is chance."
    return draw(name, title, caption, (WIDTH, 3.4), paint)


def _cells(found: Standing) -> dict[tuple[str, Kind], float]:
    return {(each.dataset, Kind(each.kind)): each.share for each in found.accuracies}


def _by_kind(results: Results, each: ModelScore, view: str = "") -> dict[Kind, float]:
    """Shares of each kind, mean over data sets."""
    found = results.standing(each, view)
    shares: defaultdict[Kind, list[float]] = defaultdict(list)
    for (_, kind), share in ({} if found is None else _cells(found)).items():
        shares[kind].append(share)
    return {kind: float(np.mean(shares[kind])) for kind in Kind if kind in shares}


def _mean_by_kind(results: Results, some: Sequence[ModelScore]) -> dict[Kind, float]:
    found = [_by_kind(results, each) for each in some]
    means = {kind: _mean([each.get(kind) for each in found]) for kind in Kind}
    return {kind: mean for kind, mean in means.items() if mean is not None}


def _overall(results: Results, each: ModelScore, view: str = "") -> float:
    found = results.standing(each, view)
    return float("nan") if found is None else found.overall.share


def _best(results: Results) -> list[tuple[str, ModelScore]]:
    """Models with answers in the main view, the best first. Raises MeasureError where there is none."""
    there = [(name, each) for name, each in results.models.items() if results.standing(each) is not None]
    if not there:
        raise MeasureError(f"needs answers of a model in the view {results.main_view}")
    return sorted(there, key=lambda each: -_overall(results, each[1]))


def _components(results: Results, each: ModelScore, view: str) -> tuple[Component, ...]:
    return each.components["mid"] if len(results.score.views) == 1 else each.view_components.get(view, ())


def _mean_proportions(results: Results, views: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Mean over models, of the views in which any has errors. Raises MeasureError where there is none."""
    found = {}
    for view in views:
        models = [_components(results, each, view) for each in results.models.values()]
        shares = [
            [part.proportion for part in parts]
            for parts in models
            if parts and parts[0].proportion is not None
        ]
        if shares:
            found[view] = tuple(np.mean(np.array(shares, dtype=float), axis=0).tolist())
    if not found:
        raise MeasureError(f"needs wrong answers at the mid level in the views {', '.join(views)}")
    return found


def _several(results: Results, wanted: Sequence[str], needs: str) -> list[str]:
    found = [view for view in wanted if view in results.score.views]
    if len(found) < 2:
        raise MeasureError(f"needs questions with {needs}")
    return found


def _count(view: str) -> int:
    return int(view.removeprefix("exo") or 1)


def _top(views: Sequence[str], shares: Sequence[float | None]) -> str:
    known = [(share, view) for share, view in zip(shares, views, strict=True) if share is not None]
    most = max(share for share, _ in known)
    return ", ".join(f"{_count(view)}V" for share, view in known if share == most)


def _type(fact: Facts) -> str:
    return "model" if fact.open is None else "open weights" if fact.open else "proprietary"


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None


def _means(rows: Sequence[Sequence[Value]]) -> list[float | None]:
    """Of numbers, column by column."""
    return [
        _mean([value if isinstance(value, float | int) else None for value in column])
        for column in zip(*rows, strict=True)
    ]
