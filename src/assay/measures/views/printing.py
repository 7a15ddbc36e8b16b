"""Figures for papers: as wide as a column or a page, with letters of the paper's size, as PDF or SVG."""

from __future__ import annotations

import json
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
"""Widths of a column and of a page of two, inches, as most conferences' styles have them."""
_UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
FONT = "DejaVu Sans"
"""Comes with matplotlib."""
NARROW = 5.0
"""Inches below which there is room for few words beside a plot."""


@dataclass(frozen=True, slots=True)
class Print:
    """How figures are printed."""

    format: Format = "pdf"
    width: float = COLUMN
    """Inches."""
    font: str = FONT
    letters: float = 8.0
    """Height of letters, points: none is smaller."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What conditions, tasks and runs are called: id -> name."""

    @classmethod
    def of(
        cls,
        format: str,
        width: str = "column",
        font: str | None = None,
        letters: float = 8.0,
        names: Path | None = None,
    ) -> Print:
        """From what a command line says. Raises RunError that says what is valid."""
        if format not in get_args(Format):
            raise RunError(f"--figures {format}: valid: {' or '.join(get_args(Format))}")
        return cls(
            format,  # type: ignore[arg-type]
            _width(width),
            FONT if font is None else _font(font),
            letters,
            {} if names is None else read_names(names),
        )

    @property
    def narrow(self) -> bool:
        """Whether there is room for few words beside a plot."""
        return self.width < NARROW

    @property
    def style(self) -> dict[str, Any]:
        """Settings of matplotlib."""
        sizes = (
            "font.size",
            "axes.labelsize",
            "axes.titlesize",
            "legend.fontsize",
            "xtick.labelsize",
            "ytick.labelsize",
        )
        return {
            **dict.fromkeys(sizes, self.letters),
            "font.family": self.font,
            "axes.titleweight": "normal",
            "pdf.fonttype": 42,  # letters that a paper's checker can read, not shapes
            "lines.linewidth": 1.2,
            "lines.markersize": 4,
        }

    def called(self, text: str) -> str:
        """What something of that id is called."""
        return self.names.get(text, text)


def printed_size(size: tuple[float, float], how: Print, *, in_a_column: bool) -> tuple[float, float]:
    """Width and height, inches, of a figure that is of ``size`` on the page.

    One that is as wide as the page there has rows, which keep their height; any other keeps its shape.
    """
    width = how.width if in_a_column else max(how.width, PAGE)
    if in_a_column and size[0] > NARROW:
        return width, size[1]
    return width, max(1.8, size[1] * width / size[0])


def readable(figure: Figure, how: Print) -> None:
    """Give things the names that were chosen, and let no letter be smaller than wanted."""
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_locator(), FixedLocator):
                told = [how.called(label.get_text()) for label in axis.get_ticklabels()]
                axis.set_ticks(axis.get_majorticklocs(), _short(told, how))
            axis.label.set_text(_folded(axis.label.get_text(), how))
        axes.tick_params(labelsize=how.letters)
        for which in "xy":
            for label in getattr(axes, f"get_{which}ticklabels")():
                label.set_fontsize(how.letters)
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(how.called(text.get_text()))
        text.set_fontsize(how.letters)


def _folded(text: str, how: Print) -> str:
    """A text over as many lines as it needs where there is little room."""
    return "\n".join(textwrap.wrap(text, int(15 * how.width * 8 / how.letters / 1.7))) if how.narrow else text


def _short(labels: list[str], how: Print) -> list[str]:
    """Labels without the experiment that all of them begin with, where there is little room."""
    begins = {label.partition("/")[0] for label in labels if "/" in label}
    if not how.narrow or len(begins) != 1 or any(re.search(r"/[0-9]+$", label) for label in labels):
        return labels
    (first,) = begins
    return [label.removeprefix(f"{first}/") for label in labels]


def read_names(file: Path) -> dict[str, str]:
    """Names of conditions, tasks and runs from a YAML or JSON file: id -> name, in groups or not. Raises RunError."""
    try:
        text = file.read_text(encoding="utf-8")
        told = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise RunError(f"--names {file}: {error.strerror}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise RunError(f"--names {file}: not YAML or JSON: {str(error).splitlines()[0]}") from None
    found: dict[str, str] = {}
    for name, value in told.items() if isinstance(told, dict) else [("", None)]:
        pairs = value.items() if isinstance(value, dict) else [(name, value)]
        for key, called in pairs:
            if not isinstance(called, str | int | float):
                raise RunError(
                    f"--names {file}: valid: id: name, or groups of these; got {key}: {called!r:.40}"
                )
            found[str(key)] = str(called)
    return found


def _width(text: str) -> float:
    """Inches of ``column``, ``page``, ``3.25in``, ``8.5cm``, ``240pt``. Raises RunError."""
    if text in ("column", "page"):
        return COLUMN if text == "column" else PAGE
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(in|cm|mm|pt)", text.strip())
    width = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not 1.5 <= width <= 20:
        raise RunError(f"--width '{text}': valid: column, page, or 1.5 to 20 inches as 3.25in, 8.5cm, 240pt")
    return width


def _font(name: str) -> str:
    """A font that is installed. Raises RunError that names the nearest one."""
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    if name not in known:
        raise RunError(f"--font '{name}' is not installed: {did_you_mean(name, known)}")
    return name
