"""Demonstrations: successful oracle episodes, stored as a dataset that LeRobot can open."""
