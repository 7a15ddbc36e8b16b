"""What other people's releases do to a task, where no perturbation of ours does exactly that."""

from assay.perturb.releases.draws import AnyGoal, AnyRoom, AnyWording, ExchangeEach, RecategoriseEach
from assay.perturb.releases.senses import GaussianBlur, StartJoints, View
from assay.perturb.releases.values import Exchange, FromFile, Recategorise, Unavailable

__all__ = [
    "AnyGoal",
    "AnyRoom",
    "AnyWording",
    "Exchange",
    "ExchangeEach",
    "FromFile",
    "GaussianBlur",
    "Recategorise",
    "RecategoriseEach",
    "StartJoints",
    "Unavailable",
    "View",
]
