"""Demonstrations by the oracle, and small visuomotor policies trained on them."""

from assay.support.plugins import provide

provide("policy", {"libero/learned": "assay.extensions.learn.visuomotor.policy:VisuomotorPolicy"})
provide(
    "command",
    {
        "Train a policy/collect": "assay.extensions.learn.commands:collect",
        "Train a policy/learn": "assay.extensions.learn.commands:learn",
    },
)
