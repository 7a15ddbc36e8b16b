"""Trained networks as files: safetensors with a description in the header. Needs torch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_model, save_model
from torch import nn

from assay.errors import PolicyError, one_line
from assay.support.files import replacing

_KEY = "assay"
D = TypeVar("D", bound=BaseModel)
N = TypeVar("N", bound=nn.Module)


def save(path: Path, network: nn.Module, description: BaseModel) -> None:
    """Write a file that appears when it is whole."""
    with replacing(path) as unfinished:
        save_model(network, str(unfinished), metadata={_KEY: description.model_dump_json()})


def load(path: Path, kind: type[D], make: Callable[[D], N], command: str) -> tuple[N, D]:
    """Read what ``command`` wrote: the network, made from its description. Raises PolicyError."""
    if not path.is_file():
        raise PolicyError(f"there is no checkpoint {path}; make one: {command}")
    try:
        with safe_open(str(path), "pt") as file:
            header = file.metadata() or {}
        description = kind.model_validate(json.loads(header[_KEY]))
        network = make(description)
        load_model(network, str(path))
    except (SafetensorError, RuntimeError, OSError, KeyError, ValueError, ValidationError) as error:
        reason = one_line(_reason(error), 120)
        raise PolicyError(f"{path} is damaged, or not a checkpoint of {command}: {reason}") from None
    return network.eval(), description


def _reason(error: Exception) -> str:
    """What is wrong with a file, without the words of the libraries that read it."""
    if isinstance(error, ValidationError):
        fields = {".".join(map(str, each["loc"])) for each in error.errors()}
        return f"its header lacks or has otherwise: {', '.join(sorted(fields))}"
    return "its header has no description of Assay's" if isinstance(error, KeyError) else str(error)
