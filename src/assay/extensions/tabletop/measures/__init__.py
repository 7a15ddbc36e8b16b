"""Measures of tabletop runs, with their tables, figures and findings."""
