"""Finds out by which convention a policy server wants to be spoken to."""

from assay.policies.probe.examination import Examination, Plan, Settled, examine, written

__all__ = ["Examination", "Plan", "Settled", "examine", "written"]
