"""Episodes: specification, interfaces and record. All other packages build on this one.

spec            everything that determines one rollout
perturbation    base class of perturbations; senses: perturbations of observations and actions
policy, world   the interfaces of policies and worlds; check: a checker for worlds
rollout         one episode; latency: delayed decisions; stepwise: the same episode under an external loop
episode         the record of an episode
events          perturbations during an episode
"""

from assay.episodes.episode import Episode, Outcome, Trajectory, no_trajectory
from assay.episodes.events import At, MidEpisodeChange, Trigger
from assay.episodes.perturbation import (
    Change,
    Effect,
    Perturbation,
    apply_perturbations,
    from_json,
    perturbation,
    to_json,
    within,
)
from assay.episodes.policy import Policy, Privileged
from assay.episodes.rollout import rollout
from assay.episodes.senses import Sense, Senses
from assay.episodes.spec import CONTROL, EpisodeSpec, Initial, Instruction, Label
from assay.episodes.stepwise import Stepwise
from assay.episodes.world import (
    LIBERO,
    WORLDS,
    Env,
    Record,
    Traits,
    World,
    horizon,
    load_world,
    task_of,
    world_name,
    world_of,
    world_policies,
    world_servers,
)

__all__ = [
    "CONTROL",
    "LIBERO",
    "WORLDS",
    "At",
    "Change",
    "Effect",
    "Env",
    "Episode",
    "EpisodeSpec",
    "Initial",
    "Instruction",
    "Label",
    "MidEpisodeChange",
    "Outcome",
    "Perturbation",
    "Policy",
    "Privileged",
    "Record",
    "Sense",
    "Senses",
    "Stepwise",
    "Traits",
    "Trajectory",
    "Trigger",
    "World",
    "apply_perturbations",
    "from_json",
    "horizon",
    "load_world",
    "no_trajectory",
    "perturbation",
    "rollout",
    "task_of",
    "to_json",
    "within",
    "world_name",
    "world_of",
    "world_policies",
    "world_servers",
]
