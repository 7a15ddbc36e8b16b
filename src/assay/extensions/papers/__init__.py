"""Tables and figures of LIBERO-Para, LIBERO-PRO and LIBERO-X, made from one's own runs."""

from assay.support.plugins import provide

provide(
    "paper",
    {
        "libero-para": "assay.extensions.papers.libero_para:PAPER",
        "libero-pro": "assay.extensions.papers.libero_pro:PAPER",
        "libero-x": "assay.extensions.papers.libero_x:PAPER",
    },
)
