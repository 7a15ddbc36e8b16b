"""Perturbations of the instruction."""
