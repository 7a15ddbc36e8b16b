"""Definitions of the terms that reports, the web app and the documentation use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import yaml

GLOSSARY: Mapping[str, str] = MappingProxyType(
    yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
)
"""Definitions by term, in alphabetical order."""
