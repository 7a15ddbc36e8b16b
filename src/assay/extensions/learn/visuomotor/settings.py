"""What a network takes in and gives."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from assay.extensions.learn.visuomotor.choices import Head, Input


class Settings(BaseModel):
    """What decides a network's shape and its inputs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    head: Head = Head.REGRESSION
    without: tuple[Input, ...] = ()
    """Inputs that it never gets."""
    pixels: int = Field(default=64, ge=32, le=128, multiple_of=16)
    """Height and width of the images it sees."""
    chunk: int = Field(default=16, ge=1, le=64)
    """Actions that it predicts at once."""
    width: int = Field(default=256, ge=16, le=2048)
    """Of its hidden layers."""
