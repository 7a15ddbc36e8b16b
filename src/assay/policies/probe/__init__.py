"""Finds out by which convention a policy server wants to be spoken to."""

from assay.policies.probe.examination import Examination, Plan, examine
from assay.policies.probe.race import Entry

__all__ = ["Entry", "Examination", "Plan", "examine"]
