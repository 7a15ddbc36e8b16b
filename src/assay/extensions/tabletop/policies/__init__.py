"""Tabletop policies with known flaws."""
