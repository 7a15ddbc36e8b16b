"""LIBERO's world and its components, registered like those of any extension.

The world is in a lower layer than its perturbations and its contact sheet, so it cannot register them itself.
"""

from assay.support.plugins import provide

provide("world", {"libero": "assay.sim.world:LIBERO_WORLD"})
provide("perturbations", {"libero": "assay.perturb"})
provide("disturbance", {"libero": "assay.perturb.senses.robot:DISTURBANCE"})
provide("sheet", {"libero": "assay.report.experiment_sheet:experiment_sheet"})
