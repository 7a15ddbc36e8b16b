"""LIBERO-Para, -PRO, -X and -plus: their official releases as experiments, and the papers' tables and figures."""

from assay.support.plugins import provide

provide(
    "paper",
    {
        "libero-para": "assay.extensions.papers.libero_para.paper:PAPER",
        "libero-pro": "assay.extensions.papers.libero_pro.paper:PAPER",
        "libero-x": "assay.extensions.papers.libero_x.paper:PAPER",
    },
)
provide(
    "experiment",
    {
        "libero-para": "assay.extensions.papers.libero_para.release:libero_para",
        "libero-pro": "assay.extensions.papers.libero_pro.release:libero_pro",
        "libero-x": "assay.extensions.papers.libero_x.release:libero_x",
        "libero-plus": "assay.extensions.papers.libero_plus:libero_plus",
    },
)
provide(
    "perturbations",
    {
        "releases": "assay.extensions.papers.releases",
        "libero-pro": "assay.extensions.papers.libero_pro.perturbations",
        "libero-plus": "assay.extensions.papers.libero_plus",
    },
)
