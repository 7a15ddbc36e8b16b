from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import AssetError
from assay.sim.packs.libero import LiberoPack
from assay.sim.packs.locate import LIBERO_VARIABLE, ROBOSUITE_VARIABLE, add
from assay.sim.packs.registry import PACKS, libero_pack, load_pack


@pytest.mark.parametrize(("name", "nearest"), [("primitive", "primitives"), ("Libero", "libero")])
def test_an_unknown_pack_is_answered_with_the_nearest(name: str, nearest: str):
    with pytest.raises(AssetError, match=rf"'{name}': did you mean '{nearest}'\?"):
        load_pack(name)


def test_every_name_is_a_pack(libero: LiberoPack, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(LIBERO_VARIABLE, str(libero.libero))
    monkeypatch.setenv(ROBOSUITE_VARIABLE, str(libero.robosuite))
    assert [load_pack(name).name for name in PACKS] == list(PACKS)


def test_the_error_names_only_the_missing_assets(no_assets: Path, libero: LiberoPack):
    with pytest.raises(AssetError) as caught:
        load_pack("libero")
    message = str(caught.value)
    assert LIBERO_VARIABLE in message and ROBOSUITE_VARIABLE in message and "assay assets add" in message
    assert "\n" not in message
    with pytest.raises(AssetError) as caught:
        libero_pack(libero=libero.libero)
    assert ROBOSUITE_VARIABLE in str(caught.value) and LIBERO_VARIABLE not in str(caught.value)


def test_added_assets_are_used(no_assets: Path, shared: Path, libero: LiberoPack):
    add(shared / "libero")
    pack = libero_pack()
    assert (pack.libero, pack.robosuite) == (libero.libero, libero.robosuite)


def test_a_named_folder_without_the_files_names_them(no_assets: Path, tmp_path: Path):
    with pytest.raises(AssetError, match="lacks 4 required"):
        libero_pack(tmp_path, tmp_path)
