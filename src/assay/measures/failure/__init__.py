"""How episodes fail: near or far from the successful trajectory, and with which object."""
