"""An asset pack: Assay's own, under another name."""

from __future__ import annotations

from assay.plugin import AssetPack, register


@register("asset pack", "example-assets")
class ExamplePack(AssetPack):
    """Assay's own parts; a real pack passes its folder of MJCF files."""

    def __init__(self) -> None:
        super().__init__("example-assets")

    def digest(self) -> str:
        """A hash of everything the pack consists of."""
        return f"example-{super().digest()}"
