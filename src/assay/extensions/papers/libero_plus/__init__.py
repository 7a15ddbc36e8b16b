"""LIBERO-plus: the names of its classification, decoded into perturbations of built-in tasks."""
