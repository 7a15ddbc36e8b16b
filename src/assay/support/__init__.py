"""Utilities for all other packages: statistics, files, random streams and processes."""
