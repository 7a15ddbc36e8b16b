"""Importers, exporters, experiment trackers, and bridges to other evaluation harnesses."""

from assay.support.plugins import provide

provide(
    "command",
    {
        "Exchange data/import": "assay.extensions.interop.commands:app",
        "Exchange data/export": "assay.extensions.interop.commands:export",
    },
)
provide(
    "tracker",
    {
        "wandb": "assay.extensions.interop.exporting:Wandb",
        "trackio": "assay.extensions.interop.exporting:Trackio",
    },
)
