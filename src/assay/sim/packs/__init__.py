"""Asset packs: MJCF documents for arenas, objects and robots."""
