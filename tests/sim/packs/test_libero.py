from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay import tasks
from assay.errors import AssetError
from assay.sim.compile import compile_scene
from assay.sim.packs.libero import LiberoPack
from assay.tasks import Arena

SCENE = tasks.load("libero_goal/0").scene


def copied(pack: LiberoPack, folder: Path, unwanted: Callable[[str, list[str]], Iterable[str]]) -> LiberoPack:
    """A copy of the pack that may be damaged; its files are links."""
    for name, source in (("libero", pack.libero), ("robosuite", pack.robosuite)):
        shutil.copytree(source, folder / name, copy_function=os.symlink, ignore=unwanted)
    return LiberoPack(folder / "libero", folder / "robosuite")


@pytest.fixture
def whole(libero: LiberoPack, tmp_path: Path) -> LiberoPack:
    """A copy of everything."""
    return copied(libero, tmp_path, lambda folder, names: ())


@pytest.fixture
def copy(libero: LiberoPack, tmp_path: Path) -> LiberoPack:
    """A copy with the things of one scene, which is quick to make and to read."""
    wanted = {entity.category for entity in SCENE.entities}

    def unwanted(folder: str, names: list[str]) -> Iterable[str]:
        things = Path(folder).name in ("stable_hope_objects", "stable_scanned_objects", "turbosquid_objects")
        return set(names) - wanted if things else ()

    return copied(libero, tmp_path, unwanted)


def replaced(file: Path, text: str) -> None:
    """Put another file in place of a link."""
    file.unlink()
    file.write_text(text)


def mesh_of(pack: LiberoPack, category: str) -> Path:
    """The first mesh that a category's description names."""
    return next(Path(str(each.get("file"))) for each in pack.entity(category).iter("mesh"))


def test_it_offers_every_category_of_the_built_in_tasks(libero: LiberoPack):
    wanted = {entity.category for task in tasks.resolve("all") for entity in task.scene.entities}
    assert wanted <= libero.categories
    for category in sorted(wanted):
        part = libero.entity(category)
        assert part.find("./worldbody/body/body[@name='object']") is not None, category
    arenas = [arena for arena in Arena if arena is not Arena.COFFEE_TABLE]
    for document in (libero.part("robot/arm.xml"), *(libero.arena(arena, "") for arena in arenas)):
        for node in document.iterfind("./asset/*[@file]"):
            assert Path(str(node.get("file"))).is_file(), node.get("file")


def test_folders_without_the_files_name_each_and_where_it_comes_from(tmp_path: Path):
    with pytest.raises(AssetError) as caught:
        LiberoPack(tmp_path / "a", tmp_path / "b")
    message = str(caught.value)
    for file in ("robots/panda/robot.xml", "grippers/panda_gripper.xml", "mounts/rethink_mount.xml"):
        assert f"{tmp_path}/b/{file} (from robosuite" in message
    assert f"{tmp_path}/a/scenes/libero_tabletop_base_style.xml (from LIBERO" in message
    assert "\n" not in message


def test_a_category_whose_folder_is_missing_is_unknown(copy: LiberoPack):
    shutil.rmtree(next(copy.libero.glob("*/plate")))
    with pytest.raises(AssetError, match="'plate'"):
        LiberoPack(copy.libero, copy.robosuite).entity("plate")


def test_the_folders_of_libero_x_are_read_beside_libero_s(copy: LiberoPack):
    usual = LiberoPack(copy.libero, copy.robosuite)
    before = usual.categories, usual.digest()
    bowl = next(copy.libero.glob("*/akita_black_bowl"))
    for place in (
        "libero_x_objects/pink_bowl/pink_bowl.xml",
        "extension_objects/akita_bowl/akita_red_bowl.xml",
    ):
        (copy.libero / place).parent.mkdir(parents=True)
        (copy.libero / place).write_text((bowl / "akita_black_bowl.xml").read_text())
    assert copy.categories - before[0] == {"pink_bowl", "akita_red_bowl"}
    assert copy.digest() != before[1]
    for category, folder in (("pink_bowl", "pink_bowl"), ("akita_red_bowl", "akita_bowl")):
        assert Path(str(next(copy.entity(category).iter("mesh")).get("file"))).parents[1].name == folder


def test_what_differs_in_how_it_stands_alone_is_made_of_the_same_parts(libero: LiberoPack):
    usual = ElementTree.tostring(libero.entity("desk_caddy"))
    for category in ("desk_caddy_back", "desk_caddy_right"):
        assert ElementTree.tostring(libero.entity(category)) == usual


def test_a_missing_texture_of_a_room_is_named(copy: LiberoPack):
    (copy.libero / "textures/light-gray-floor-tile.png").unlink()
    with pytest.raises(AssetError, match=r"light-gray-floor-tile\.png is missing \(part of LIBERO"):
        copy.arena(Arena.TABLE, "")


def test_missing_meshes_are_all_named_when_a_scene_is_compiled(copy: LiberoPack):
    mesh = mesh_of(copy, "plate")
    other = copy.robosuite / "robots/panda/meshes/link3.stl"
    for file in (mesh, other):
        file.unlink()
    with pytest.raises(AssetError) as caught:
        compile_scene(SCENE, copy)
    assert str(mesh) in str(caught.value) and str(other) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_entity_without_its_object_is_refused(copy: LiberoPack):
    file = next(copy.libero.glob("*/plate/plate.xml"))
    replaced(file, file.read_text().replace('name="object"', 'name="thing"'))
    with pytest.raises(AssetError, match="no body named 'object'"):
        compile_scene(SCENE, copy)


def test_the_digest_does_not_depend_on_where_the_assets_are(libero: LiberoPack, whole: LiberoPack):
    assert len(libero.digest()) == 64 and whole.digest() == libero.digest()


def test_the_digest_changes_with_every_file(copy: LiberoPack, tmp_path: Path):
    files = [
        tmp_path / "libero/scenes/libero_tabletop_base_style.xml",
        tmp_path / "libero/articulated_objects/flat_stove.xml",
        tmp_path / "libero/textures/light-gray-floor-tile.png",
        tmp_path / "robosuite/robots/panda/robot.xml",
        tmp_path / "robosuite/mounts/rethink_mount.xml",
        mesh_of(copy, "plate"),
    ]
    digests = [copy.digest()]
    for file in files:
        content = file.read_bytes()
        file.unlink()  # a link to the original
        file.write_bytes(content + b"\n")
        digests.append(copy.digest())
    assert len(set(digests)) == len(digests)
