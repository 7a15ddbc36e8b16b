"""Asset packs: MJCF documents of arenas, objects and robots."""
