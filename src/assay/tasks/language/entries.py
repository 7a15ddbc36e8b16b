"""The YAML files beside this module, checked entry by entry."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from assay.errors import PerturbationError

HERE = files(__package__)
Phrase = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z' -]*$")]
"""Words with single spaces between them."""
Words = tuple[Phrase, ...]

_T = TypeVar("_T")


class Entry(BaseModel):
    """An entry of a file: no fields but its own, none of them changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def load_yaml(file: Traversable) -> Any:
    """What a file holds. Raises PerturbationError where that is not YAML."""
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise PerturbationError(f"{file} is not YAML: {' '.join(str(error).split())}") from None


def validate(kind: type[_T], content: Any, file: str) -> _T:
    """What a file holds, as entries. Raises PerturbationError that says where it is wrong."""
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PerturbationError(f"{file}: {place}: {first['msg'].lower()}") from None
