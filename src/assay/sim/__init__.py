"""MuJoCo: asset packs, compiling a Scene, stepping, observing, predicates."""
