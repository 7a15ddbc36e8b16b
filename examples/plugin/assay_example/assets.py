"""An asset pack: the built-in pack under another name."""

from __future__ import annotations

from assay.plugin import AssetPack, register


@register("asset pack", "example-assets")
class ExamplePack(AssetPack):
    """Return the built-in parts; a real pack passes its own folder of MJCF files."""

    def __init__(self) -> None:
        super().__init__("example-assets")

    def digest(self) -> str:
        """Return a hash of the pack's content."""
        return f"example-{super().digest()}"
