"""Third-party formats, evaluation harnesses and experiment trackers."""

from assay.support.plugins import provide

provide(
    "command",
    {
        "Runs/import": "assay.extensions.interop.import_command:app",
        "Runs/export": "assay.extensions.interop.export_command:export",
    },
)
provide(
    "tracker",
    {
        "wandb": "assay.extensions.interop.exchange.trackers.wandb_runs:Wandb",
        "trackio": "assay.extensions.interop.exchange.trackers.trackio_runs:Trackio",
        "tensorboard": "assay.extensions.interop.exchange.trackers.tensorboard_logs:TensorBoard",
    },
)
