"""A world in one folder: a point in the plane that is sent to named positions."""

from assay_example.point.world import POINT_WORLD, points

__all__ = ["POINT_WORLD", "points"]
