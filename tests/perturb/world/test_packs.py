"""Perturbations of the world on an asset pack of somebody's."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

import pytest

from assay.episodes import EpisodeSpec, Perturbation
from assay.errors import AssetError, PerturbationError
from assay.perturb.world.kinds import Among
from assay.perturb.world.layout import Confound, Distractors, Obstacle
from assay.perturb.world.objects import Replace
from assay.sim.compile import compile_scene
from assay.sim.footprints import footprint
from assay.sim.packs.pack import AssetPack
from assay.sim.packs.registry import PACKS, load_pack, planned_on
from assay.sim.world import LIBERO_WORLD
from assay.tasks import Task

OWN = {"tea_tin": "alphabet_soup", "blue_bowl": "akita_black_bowl"}
LACKS = frozenset({"ketchup", "milk", "white_bowl"})


class TeaPack(AssetPack):
    """Has two things that Assay's own pack lacks, and lacks three; its plates are larger."""

    def __init__(self) -> None:
        super().__init__("tea")

    @property
    def categories(self) -> frozenset[str]:
        return super().categories - LACKS | OWN.keys()

    def entity(self, category: str) -> Element:
        if category not in self.categories:
            raise AssetError(f"the asset pack 'tea' has no category '{category}'")
        return super().entity(OWN.get(category, "wooden_tray" if category == "plate" else category))


@pytest.fixture(autouse=True)
def tea() -> Iterator[None]:
    PACKS.register("tea", TeaPack)
    yield
    del PACKS._known["tea"]


def changed(perturbation: Perturbation, *, pack: str = "tea", seed: int = 0) -> Task:
    spec = EpisodeSpec("libero_goal/1", seed, pack=pack, perturbations=(perturbation,))
    return LIBERO_WORLD.task(spec)


def category_of(task: Task, name: str) -> str:
    return next(each.category for each in task.scene.entities if each.name == name)


def test_what_only_another_pack_has_is_taken_by_name_and_compiled():
    for value in (
        Distractors(1, ("tea_tin",)),
        Obstacle("tea_tin"),
        Replace("tea_tin", thing="cream_cheese_1"),
    ):
        task = changed(value)
        assert "tea_tin" in {each.category for each in task.scene.entities}
        compile_scene(task.scene, load_pack("tea"))
        with pytest.raises(AssetError, match="'primitives' has no category 'tea_tin'"):
            compile_scene(changed(value, pack="primitives").scene, load_pack("primitives"))


def test_draws_are_from_what_the_pack_has():
    drawn = {
        category_of(changed(Replace(among=Among.OTHER, thing="cream_cheese_1"), seed=seed), "cream_cheese_1")
        for seed in range(60)
    }
    assert "tea_tin" in drawn and not drawn & LACKS
    added = [changed(Distractors(6), seed=seed).scene.objects for seed in range(12)]
    names = {each.category for objects in added for each in objects if each.name.startswith("distractor")}
    assert "tea_tin" in names and not names & LACKS


def test_things_take_the_room_that_they_have_in_the_pack():
    usual = footprint("plate")
    with planned_on("tea"):
        assert footprint("plate") != usual
    with planned_on("libero"):
        assert footprint("plate") == usual, "a scene is the same on both packs"
    assert footprint("plate") == usual


def test_a_double_and_scenes_of_assays_own_pack_are_as_they_were():
    for seed in range(5):
        assert changed(Distractors(3), pack="libero", seed=seed) == changed(
            Distractors(3), pack="primitives", seed=seed
        )
    double = Confound((0.1, 0.2, 0.9))
    with pytest.raises(PerturbationError, match="does not distinguish"):
        changed(double)
    spatial = EpisodeSpec("libero_spatial/0", 0, pack="tea", perturbations=(double,))
    compile_scene(LIBERO_WORLD.task(spatial).scene, load_pack("tea"))
