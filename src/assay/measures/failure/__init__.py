"""Kinds of failure: near or far from the successful trajectory, and the object that was approached."""
