"""New scenes with several tasks each: attributes with confounders, spatial relations, furniture to operate."""

from assay.support.plugins import provide

provide(
    "command",
    {"Experiments, tasks, instructions/scenes": "assay.extensions.generate.command:app"},
)
