"""Imports logs of other evaluation tools as runs."""
