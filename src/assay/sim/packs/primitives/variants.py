"""Variants of a category: its own parts in other colours, with a pattern, larger or smaller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from xml.etree.ElementTree import Element

import numpy as np

from assay.sim.appearance import dress, resize
from assay.sim.packs.primitives.shapes import numbers
from assay.sim.variants import CategoryVariant
from assay.tasks.scene import Finish

_BRIGHTNESS = np.array([0.2126, 0.7152, 0.0722])
"""Of pure red, green and blue light (Rec. 709)."""


def build_variant(
    category: str, variant: CategoryVariant, bases: Mapping[str, Callable[[], Element]]
) -> Element:
    """A fresh ``<mujoco>`` document of a variant, made from its base's."""
    root = bases[variant.base]()
    root.set("model", category)
    if variant.colour is not None:
        _recolour(root, np.array(variant.colour), None if variant.dark is None else np.array(variant.dark))
    if variant.pattern is not None:
        drawn = [geom for geom in root.iter("geom") if geom.get("group") == "1"]
        dress(root, drawn, Finish(variant.colour, variant.pattern), "coat")
    frame, assets = root.find("./worldbody/body"), root.find("asset")
    if variant.size != 1.0 and frame is not None and assets is not None:
        resize(frame, assets, variant.size)
    return root


def _recolour(root: Element, colour: np.ndarray, dark: np.ndarray | None) -> None:
    """Every drawn part in shades of one colour, or between two: by how bright it was beside the brightest."""
    drawn = [geom for geom in root.iter("geom") if geom.get("group") == "1"]
    for geom in drawn:
        geom.attrib.pop("material", None)
    colours = [np.array([float(word) for word in geom.get("rgba", "1 1 1 1").split()]) for geom in drawn]
    brightness = [float(each[:3] @ _BRIGHTNESS) for each in colours]
    least, most = min(brightness), max(brightness)
    for geom, before, bright in zip(drawn, colours, brightness, strict=True):
        if dark is None:
            shaded = colour * np.sqrt(bright / most)
        else:
            share = (bright - least) / (most - least)
            shaded = share * colour + (1.0 - share) * dark
        geom.set("rgba", numbers((*shaded, before[3])))
