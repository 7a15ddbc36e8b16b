"""Whoever acts: the Policy protocol, the oracle, and the rollout of one episode."""

from assay.experiments.spec import EpisodeSpec
from assay.policies.base import Policy, Privileged
from assay.policies.registry import load_policy
from assay.policies.rollout import Outcome, Rollout, rollout

__all__ = ["EpisodeSpec", "Outcome", "Policy", "Privileged", "Rollout", "load_policy", "rollout"]
