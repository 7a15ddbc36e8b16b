"""VIMA-Bench and CoGeLoT: a world of tabletop tasks with multimodal prompts. An action is two poses."""

from assay.support.plugins import provide

provide(
    "world",
    {"tabletop": "assay.extensions.tabletop.world.env:TABLETOP_WORLD"},
)
provide(
    "experiment",
    {
        "tabletop": "assay.extensions.tabletop.experiments:tabletop",
        "prompts": "assay.extensions.tabletop.experiments:prompts",
    },
)
provide(
    "perturbations",
    {"tabletop": "assay.extensions.tabletop.prompts.perturbations"},
)
provide(
    "measure",
    {"tabletop": "assay.extensions.tabletop.measures.tabletop:TABLETOP"},
)
provide(
    "paper",
    {"cogelot": "assay.extensions.tabletop.cogelot:PAPER"},
)
provide(
    "command",
    {"Experiments, tasks, instructions/tabletop": "assay.extensions.tabletop.commands:app"},
)
