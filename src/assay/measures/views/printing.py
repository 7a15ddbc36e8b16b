"""Print settings for figures in papers: width of a column or a page, font, PDF or SVG."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import yaml

from assay.errors import RunError, did_you_mean

if TYPE_CHECKING:  # see style.py: matplotlib is loaded when a figure is drawn
    from matplotlib.figure import Figure

Format = Literal["pdf", "svg"]
COLUMN, PAGE = 3.25, 6.75
"""Widths, in inches, of a column and of a two-column page in most conference styles."""
_UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
FONT = "DejaVu Sans"
"""Default font, which is bundled with matplotlib."""
NARROW = 5.0
"""Width, in inches, below which there is little room for text beside a plot."""


@dataclass(frozen=True, slots=True)
class Print:
    """Print settings for figures."""

    format: Format = "pdf"
    width: float = COLUMN
    """Width of a figure in inches."""
    font: str = FONT
    letters: float = 8.0
    """Smallest font size in points."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of conditions, tasks and runs: id -> name."""

    @classmethod
    def of(
        cls,
        format: str,
        width: str = "column",
        font: str | None = None,
        letters: float = 8.0,
        names: Path | None = None,
    ) -> Print:
        """Return settings from command-line options. Raises RunError, which lists the valid values."""
        if format not in get_args(Format):
            raise RunError(f"--figures {format}: expected {' or '.join(get_args(Format))}")
        inches = {"column": COLUMN, "page": PAGE}.get(width, 0.0)
        if match := re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(in|cm|mm|pt)", width.strip()):
            inches = float(match[1]) * _UNITS[match[2]]
        if not 1.5 <= inches <= 20:
            raise RunError(
                f"--width '{width}': expected column, page, or 1.5 to 20 inches, as in 3.25in, 8.5cm or 240pt"
            )
        if font is not None:
            from matplotlib.font_manager import fontManager

            installed = {entry.name for entry in fontManager.ttflist}
            if font not in installed:
                raise RunError(f"--font '{font}' is not installed: {did_you_mean(font, installed)}")
        chosen = {} if names is None else read_names(names)
        return cls(format, inches, font or FONT, letters, chosen)  # type: ignore[arg-type]

    @property
    def narrow(self) -> bool:
        """Whether there is little room for text beside a plot."""
        return self.width < NARROW

    @property
    def style(self) -> dict[str, Any]:
        """Settings for matplotlib's rcParams."""
        sized = ("axes.label", "axes.title", "legend.font", "xtick.label", "ytick.label")
        return {
            **dict.fromkeys(("font.size", *(f"{part}size" for part in sized)), self.letters),
            "font.family": self.font,
            "axes.titleweight": "normal",
            "pdf.fonttype": 42,  # TrueType, which the checkers of conferences accept
            "lines.linewidth": 1.2,
            "lines.markersize": 4,
        }

    def name(self, text: str) -> str:
        """Return the printed name of an id; the id itself by default."""
        return self.names.get(text, text)


def readable(figure: Figure, how: Print) -> None:
    """Apply the display names and the font size to all text in a figure."""
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_locator(), FixedLocator):
                labels = [how.name(label.get_text()) for label in axis.get_ticklabels()]
                first, *others = {label.partition("/")[0] for label in labels if "/" in label} or {""}
                numbered = any(re.search(r"/[0-9]+$", label) for label in labels)
                if how.narrow and not others and not numbered:  # tasks keep the names of their suites
                    labels = [label.removeprefix(f"{first}/") for label in labels]
                axis.set_ticks(axis.get_majorticklocs(), labels)
            if how.narrow:
                width = int(15 * how.width * 8 / how.letters / 1.7)
                axis.label.set_text("\n".join(textwrap.wrap(axis.label.get_text(), width)))
        axes.tick_params(labelsize=how.letters)
        for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
            label.set_fontsize(how.letters)
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(how.name(text.get_text()))
        text.set_fontsize(how.letters)


def read_names(file: Path) -> dict[str, str]:
    """Read names of conditions, tasks and runs (id -> name) from YAML or JSON. Raises RunError."""
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))  # JSON is YAML
    except OSError as error:
        raise RunError(f"--names {file}: {error.strerror}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise RunError(f"--names {file} is not valid YAML or JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(data, dict) or any(isinstance(label, dict | list) for label in data.values()):
        raise RunError(f"--names {file}: expected lines of the form 'id: name'")
    return {str(name): str(label) for name, label in data.items()}
