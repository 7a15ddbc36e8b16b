"""Extensions: each registers itself through `assay.plugin`, like a third-party plugin; the core imports none."""
