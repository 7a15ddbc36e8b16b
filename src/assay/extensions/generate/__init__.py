"""Generated scenes with several tasks each: attributes with confounders, spatial relations, furniture to operate."""

from assay.support.plugins import provide

provide(
    "command",
    {"Rarely used/scenes": "assay.extensions.generate.command:app"},
)
