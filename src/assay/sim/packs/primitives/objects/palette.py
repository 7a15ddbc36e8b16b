"""The colours things are painted in: red, green, blue, opacity."""

from __future__ import annotations

from assay.sim.packs.primitives.shapes import Rgba

BLACK: Rgba = (0.07, 0.07, 0.08, 1.0)
CHARCOAL: Rgba = (0.18, 0.18, 0.19, 1.0)
GREY: Rgba = (0.45, 0.46, 0.48, 1.0)
STEEL: Rgba = (0.74, 0.76, 0.79, 1.0)
TIN: Rgba = (0.58, 0.60, 0.63, 1.0)
WHITE: Rgba = (0.95, 0.95, 0.94, 1.0)
PORCELAIN: Rgba = (0.92, 0.91, 0.88, 1.0)
PAPER: Rgba = (0.93, 0.90, 0.80, 1.0)
FOIL: Rgba = (0.80, 0.84, 0.91, 1.0)

RED: Rgba = (0.80, 0.10, 0.09, 1.0)
BRIGHT_RED: Rgba = (0.90, 0.16, 0.08, 1.0)
DARK_RED: Rgba = (0.52, 0.06, 0.06, 1.0)
LIGHT_RED: Rgba = (0.93, 0.50, 0.48, 1.0)
PINK: Rgba = (0.95, 0.60, 0.72, 1.0)
ORANGE: Rgba = (0.95, 0.52, 0.08, 1.0)
YELLOW: Rgba = (0.97, 0.80, 0.16, 1.0)
GOLD: Rgba = (0.83, 0.64, 0.22, 1.0)
CREAM: Rgba = (0.97, 0.92, 0.74, 1.0)
GREEN: Rgba = (0.13, 0.52, 0.20, 1.0)
DARK_GREEN: Rgba = (0.04, 0.22, 0.11, 1.0)
TEAL: Rgba = (0.05, 0.55, 0.55, 1.0)
CYAN: Rgba = (0.30, 0.80, 0.88, 1.0)
SKY: Rgba = (0.45, 0.68, 0.92, 1.0)
BLUE: Rgba = (0.10, 0.25, 0.66, 1.0)
PURPLE: Rgba = (0.45, 0.18, 0.60, 1.0)

BROWN: Rgba = (0.27, 0.13, 0.07, 1.0)
DARK_BROWN: Rgba = (0.20, 0.07, 0.04, 1.0)
TAN: Rgba = (0.82, 0.60, 0.34, 1.0)
CORK: Rgba = (0.78, 0.58, 0.36, 1.0)
WICKER: Rgba = (0.76, 0.55, 0.31, 1.0)
DARK_WICKER: Rgba = (0.55, 0.35, 0.17, 1.0)
WOOD: Rgba = (0.62, 0.40, 0.21, 1.0)
LIGHT_WOOD: Rgba = (0.80, 0.60, 0.37, 1.0)
