"""Policies for the table with known flaws."""
