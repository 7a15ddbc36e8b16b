"""Figures: measured values in, drawings out."""
