"""VIMA-Bench's seventeen tabletop tasks and the experiments of CoGeLoT."""
