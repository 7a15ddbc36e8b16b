"""A world in one folder: a point on a sheet of paper that is told where to go."""

from assay_example.point.world import POINT_WORLD, points

__all__ = ["POINT_WORLD", "points"]
