"""LIBERO-plus: the names in its classification, decoded into perturbations of built-in tasks."""
