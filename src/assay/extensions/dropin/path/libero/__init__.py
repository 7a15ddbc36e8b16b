"""Assay's stand-in for LIBERO."""
