"""Asset packs: where the shapes, weights and looks of things come from."""
