"""An asset pack: Assay's own, under another name."""

from __future__ import annotations

from assay.plugin import register
from assay.sim.packs.primitives import PrimitivesPack


@register("asset pack", "example-assets")
class ExamplePack(PrimitivesPack):
    """Hands out Assay's own parts; a real one overrides `entity`, `arena`, `robot`, ..."""

    name = "example-assets"

    def digest(self) -> str:
        """A hash of everything the pack consists of."""
        return f"example-{super().digest()}"
