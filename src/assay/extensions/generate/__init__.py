"""Generated scenes with several tasks each, about similar objects, spatial relations and furniture to operate."""

from assay.support.plugins import provide

provide(
    "command",
    {"Rarely used/scenes": "assay.extensions.generate.command:app"},
)
