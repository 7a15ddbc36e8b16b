"""Perturbations of sensors and actuation: camera images, proprioception and actions.

senses = Senses((Fog(4, cameras=("agentview",)), ActionDelay(2)), task="libero_goal/0", seed=7)
observation = senses.observe(world.reset(state))
observation = senses.observe(world.step(senses.act(action, world.steps)))
"""

from assay.episodes.senses import Sense
from assay.perturb.senses.images import pictures_at
from assay.perturb.senses.robot import ActionDelay, ActionNoise, ProprioceptionNoise, ProprioceptionOffset


def senses_at(severity: int) -> dict[str, Sense]:
    """Return every perturbation of images, proprioception and actions, by display name, at a severity of 1 to 10."""
    share = severity / 10
    return {
        **pictures_at(severity),
        "proprioception noise": ProprioceptionNoise(0.05 * share, 0.5 * share, 0.2 * share, 0.01 * share),
        "proprioception offset": ProprioceptionOffset(0.1 * share, 0.5 * share, 0.2 * share, 0.02 * share),
        "action noise": ActionNoise(0.5 * share, 0.5 * share),
        "action delay": ActionDelay(severity),
    }
