"""Tables and figures of the LIBERO-Para, LIBERO-PRO and LIBERO-X papers, computed from the user's runs."""

from assay.support.plugins import provide

provide(
    "paper",
    {
        "libero-para": "assay.extensions.papers.libero_para:PAPER",
        "libero-pro": "assay.extensions.papers.libero_pro:PAPER",
        "libero-x": "assay.extensions.papers.libero_x:PAPER",
    },
)
