"""The report about answers: one page that needs nothing else, and its figures and tables as files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay import __version__
from assay.extensions.eqa.scoring import figures, tables
from assay.extensions.eqa.scoring.score import Score
from assay.extensions.eqa.scoring.sheet import HUMAN
from assay.measures.views.wording import between, listed, percent, plural, points
from assay.report.page import PAGE
from assay.report.rendering import render
from assay.report.sections import Section

FEWEST_OF_A_CELL = 10
"""Questions of a data set and kind, below which a reader is warned."""
UNEVEN = 0.001
"""A p below which letters are said to be uneven."""


@dataclass(frozen=True)
class Page:
    """The report."""

    score: Score
    title: str

    def html(self) -> str:
        """The page."""
        return render(
            "questions.html.jinja",
            title=self.title,
            version=__version__,
            banners=list(banners(self.score)),
            sentences=list(sentences(self.score)),
            sections=self.sections,
        )

    @cached_property
    def sections(self) -> list[Section]:
        """Figures and tables, part by part."""
        score, drawn = self.score, figures.components(self.score)
        found = [
            Section(
                "Who is right how often",
                "Four options each: who guesses is right in one of four.",
                (figures.overall(score),),
                (tables.overview(score), tables.accuracies(score), *tables.comparisons(score)),
            ),
            Section(
                "Levels and directions",
                "High: an instruction; mid: the signs of a motion; low: its figures. Prediction looks "
                "forward from an action to its result, inference back from the result to the action.",
                (figures.profile(score),),
                tuple(tables.asymmetries(score)),
            ),
            Section(
                "Views",
                "The same items, seen by other cameras.",
                (),
                tuple(tables.views(score)),
            ),
            Section(
                "Errors",
                "Which component of an action errors are about, and which kind of mistake they are.",
                () if drawn is None else (drawn,),
                tuple(tables.errors(score)),
            ),
            Section(
                "Checks",
                "Whether letters are balanced, what was no answer, and how far people agree.",
                (),
                tuple(tables.checks(score)),
            ),
        ]
        return [section for section in found if section.drawings or section.tables]

    def write(self, folder: Path) -> Path:
        """Write the page, figures (SVG) and tables (CSV, Markdown, LaTeX)."""
        for name in ("figures", "tables"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for section in self.sections:
            for drawing in section.drawings:
                (folder / "figures" / f"{drawing.name}.svg").write_text(drawing.file, encoding="utf-8")
            for table in section.tables:
                for suffix, text in (
                    (".csv", table.as_csv()),
                    (".md", table.as_markdown()),
                    (".tex", table.as_latex()),
                ):
                    (folder / "tables" / f"{table.name}{suffix}").write_text(text, encoding="utf-8")
        page = folder / PAGE
        page.write_text(self.html(), encoding="utf-8", errors="replace")
        return page


def banners(score: Score) -> Iterator[str]:
    """What makes numbers doubtful."""
    for right_letter in score.right_letters:
        if right_letter.p < UNEVEN:
            best = percent(right_letter.most)
            yield f"Right answers are not balanced ({right_letter.of}): one letter alone scores {best}."
    thin = {
        f"{accuracy.dataset} {accuracy.kind}": accuracy.questions
        for model in score.models.values()
        for accuracy in model.standing.accuracies
    }
    if few := [f"{cell} ({count})" for cell, count in thin.items() if count < FEWEST_OF_A_CELL]:
        yield f"Few questions count as much in means as many: {', '.join(few[:6])}{', ...' * (len(few) > 6)}."
    if len(score.views) > 1:
        yield f"Means pool {plural(len(score.views), 'view')} of the same items ({', '.join(score.views)}); see Views."
    for name, asked in score.silent.items():
        yield f"{name}: no answer counts; {plural(asked, 'question')} asked in vain. It is not scored."
    for name, model in score.models.items():
        if model.unanswered:
            again = " by the endpoint; ask again" if model.asked_with else ""
            yield f"{name}: {plural(model.unanswered, 'question')} unanswered{again}."
        if missing := score.questions - model.asked:
            yield f"{name}: {missing:,} of {score.questions:,} questions were not asked."
        unparsed = sum(model.unparsed.values())
        if unparsed > 0.05 * model.asked:
            yield f"{name}: {unparsed:,} of {model.asked:,} answers are none; they count as wrong."


def sentences(score: Score) -> Iterator[str]:
    """What the numbers say, in words."""
    for name, model in list(score.models.items())[:5]:
        found = model.standing
        against = {True: "above chance", False: "not above chance", None: "too few episodes for an interval"}
        if found.overall.interval is not None and found.overall.interval.high < score.chance:
            against[False] = "below chance"
        form = ""
        if model.unparsed and model.among_letters is not None:
            plain = f"{percent(model.among_letters)} of those that are a letter are right"
            form = f"; {plural(sum(model.unparsed.values()), 'answer')} in another form, {plain}"
        interval = "" if found.overall.interval is None else f" ({between(found.overall.interval, 100)})"
        levels = [
            f"{percent(found.means[level].share)} {level}"
            for level in ("high", "mid", "low")
            if level in found.means
        ]
        gap = found.asymmetry.get("overall")
        direction = "" if gap is None else f"; inference less prediction {points(gap.share)} points"
        yield (
            f"{name}: {percent(found.overall.share)}{interval}, {against[found.above_chance]}; "
            f"{listed(levels)}{direction}{form}."
        )
    people = [model for name, model in score.models.items() if name.startswith(HUMAN)]
    if people:
        mean = sum(person.standing.overall.share for person in people) / len(people)
        yield f"{plural(len(people), 'person', 'people')}: {percent(mean)} on average."
    for each in score.agreement[:1]:
        yield (
            f"Annotators agree on {percent(each.observed)} of {plural(each.items, 'question')}; kappa "
            f"{each.even_kappa:.3f} at a chance of one in four."
        )
