"""A measure with its table and its figure."""
