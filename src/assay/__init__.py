"""Assay: how much of a robot policy's success is understanding, and how much is memory?"""

__version__ = "0.1.0"
