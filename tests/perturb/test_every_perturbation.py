"""Every perturbation in the catalogue is an immutable value with a JSON form and validated ranges.

It changes the stated facts about a task and its compiled model, and no others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from importlib.util import find_spec
from math import inf, nan
from typing import Any

import pytest

from assay import tasks
from assay.episodes import At, Effect, EpisodeSpec, from_json, to_json
from assay.episodes.events import near
from assay.errors import PerturbationError
from assay.perturb import Perturbation, Say, apply_perturbations
from assay.perturb.catalogue import listed
from assay.perturb.events import Cancel, Knock, Shut
from assay.perturb.senses import senses_at
from assay.perturb.words.rewordings import corrupted
from assay.perturb.words.rewordings.designs import Counterfactual, OtherTask
from assay.perturb.words.text import Mask
from assay.perturb.world.exchange import ExchangePlaces
from assay.perturb.world.kinds import Among
from assay.perturb.world.layout import Confound, Distractors, Obstacle
from assay.perturb.world.objects import Alter, Recolour, Remove, Replace, Resize
from assay.perturb.world.position import (
    Displace,
    DisplaceAlong,
    Jitter,
    MoveFixture,
    Relocate,
    Swap,
    WorkspaceAxis,
)
from assay.perturb.world.staging import MoveCamera, Orbit, Relight, Repaint, Room, StartPose
from assay.perturb.world.targets import Attribute, UnseenTargets, VariedTarget
from assay.tasks import Arena
from assay.tasks.scene import Pattern, Surface

BOWL, CHEESE, BOTTLE, PLATE = "akita_black_bowl_1", "cream_cheese_1", "wine_bottle_1", "plate_1"
THINGS = "|".join((BOWL, CHEESE, BOTTLE, PLATE))
FIXTURES = "wooden_cabinet_1|flat_stove_1|wine_rack_1"
ROBOT = "robot0|gripper0|mount0"
RED, BLUE = (0.9, 0.1, 0.1), (0.2, 0.4, 0.9)


@dataclass(frozen=True)
class Case:
    """A perturbation and the facts that it changes, as regular expressions."""

    made: Perturbation
    must: tuple[str, ...]
    """Each matches at least one fact that changes."""
    may: tuple[str, ...] = ()
    """Further facts that may change, as consequences."""
    task: str = "libero_goal/8"


def elsewhere(name: str) -> tuple[str, ...]:
    """An object gets a region of its own, and starts there."""
    return (
        rf"scene initial On {name} workspace_\w+ gone",
        rf"scene initial On {name} workspace_{name}_moved_region new",
        rf"scene regions workspace_{name}_moved_region new",
        rf"settled {name} place",
    )


def comes(name: str, change: str = "new") -> tuple[str, ...]:
    """An object is added, or removed if ``change`` is ``gone``."""
    return (
        rf"scene objects {name}( finish)? {change}",
        rf"scene initial On {name} workspace_\w+ {change}",
        rf"(body|geom) {name}_\S+ {change}",
        rf"settled {name} {change}",
    )


def room_for(name: str) -> tuple[str, ...]:
    """Region and material of an added object."""
    return (rf"scene regions workspace_{name}_init_region new", rf"mat {name}_finish new")


LARGER = (
    rf"geom {BOWL}_\w+ size",
    rf"geom {BOWL}_\w+ pos",
    rf"body {BOWL}_main mass",
)
OTHER_FORM = (rf"settled {BOWL} (place|height)",)  # drawn from its region, but as a whole within it
SAID = ("instruction text",)

WORLD: list[Case] = [
    Case(Displace(0.2), elsewhere(BOWL)),
    Case(DisplaceAlong(WorkspaceAxis.X, 0.2), elsewhere(BOWL)),
    Case(ExchangePlaces(), elsewhere(BOWL) + elsewhere(PLATE), elsewhere(f"({THINGS})")),
    Case(Jitter(0.05), elsewhere(BOWL), elsewhere(f"({THINGS})")),
    Case(Relocate(0.5), elsewhere(BOWL), elsewhere(f"({THINGS})")),
    Case(Swap(BOWL, CHEESE), elsewhere(BOWL) + elsewhere(CHEESE)),
    Case(MoveFixture(0.1, "wooden_cabinet_1"), elsewhere("wooden_cabinet_1")),
    Case(
        Recolour(RED),
        (rf"scene objects {BOWL} finish colour", rf"geom {BOWL}_g\d+ material", rf"mat {BOWL}_finish new"),
        (rf"geom {BOWL}_g\d+ rgba",),
    ),
    Case(
        Recolour(RED, Pattern.CHECKER),
        (
            rf"scene objects {BOWL} finish colour",
            rf"scene objects {BOWL} finish pattern",
            rf"geom {BOWL}_g\d+ material",
            rf"mat {BOWL}_finish new",
        ),
        (rf"geom {BOWL}_g\d+ rgba",),
    ),
    Case(
        Resize(1.2),
        (rf"scene objects {BOWL} size", *LARGER),
        OTHER_FORM,
    ),
    Case(
        Alter(),
        (rf"scene objects {BOWL} \w+( \w+)?", rf"scene objects {PLATE} \w+( \w+)?"),
        (
            rf"(geom|body) ({BOWL}|{PLATE})_\S+ \w+",
            rf"mat ({BOWL}|{PLATE})_\w+ new",
            rf"settled ({BOWL}|{PLATE}) \w+",
        ),
    ),
    Case(
        Replace("ketchup"),
        (rf"scene objects {BOWL} category", *LARGER[:1]),
        (rf"(geom|body) {BOWL}_\w+ \w+", rf"settled {BOWL} axes", *OTHER_FORM),
    ),
    Case(
        UnseenTargets(),
        ("instruction text", rf"scene objects {BOWL} category", *LARGER[:1]),
        (rf"(geom|body) {BOWL}_\S+ \w+", rf"settled {BOWL} axes", *OTHER_FORM),
    ),
    Case(
        VariedTarget(Attribute.COLOUR),
        (
            "instruction text",
            rf"scene objects {BOWL} finish colour",
            rf"geom {BOWL}_g\d+ material",
            rf"mat {BOWL}_finish new",
            *comes(f"{BOWL}_look_alike_1"),
            *comes(f"{BOWL}_look_alike_2"),
        ),
        (rf"geom {BOWL}_g\d+ rgba", *room_for(rf"{BOWL}_look_alike_\d")),
    ),
    Case(Remove(), ("scene absent", *comes(BOWL, "gone"))),
    Case(Distractors(2), comes(r"distractor_\w+_1"), room_for(r"distractor_\w+_1")),
    Case(Confound(RED), comes(f"{BOWL}_double_1"), room_for(f"{BOWL}_double_1"), task="libero_10/3"),
    Case(Obstacle(), comes("obstacle_milk_1"), room_for("obstacle_milk_1"), task="libero_goal/1"),
    Case(
        Room(Arena.KITCHEN),
        ("scene arena", r"geom kitchen_visual\w* new"),
        (
            rf"(body|geom|cam|light|mat) (?!{ROBOT}|{THINGS}|{FIXTURES})\S+ \w+",
            rf"settled ({THINGS}) place",  # drawn from the same regions, but as a whole within them
        ),
    ),
    *(
        Case(
            Repaint(surface, BLUE, Pattern.STRIPES),
            (
                rf"scene staging surfaces {surface} new",
                rf"geom {geoms} material",
                rf"mat staging_{surface} new",
            ),
            (
                rf"geom {geoms} rgba",
                r"geom (wall|table)\w*_visual \w+",  # drawn as meshes
                rf"mat staging_{surface}_0 new",  # of a plane
            ),
        )
        for surface, geoms in (
            (Surface.WALLS, r"wall_\w+"),
            (Surface.FLOOR, "floor"),
            (Surface.TABLE, r"table_\w+"),
        )
    ),
    Case(
        Relight(intensity=0.5),
        ("scene staging lighting intensity", r"light \w+ diffuse"),
    ),
    Case(
        Relight(colour=(1.0, 0.5, 0.5)),
        ("scene staging lighting colour", r"light \w+ diffuse"),
    ),
    Case(
        Relight(tilt=(0.4, 0.0)),
        ("scene staging lighting tilt", r"light \w+ dir"),
    ),
    Case(Relight(shadows=True), ("scene staging lighting shadows", r"light \w+ castshadow")),
    *(
        Case(made, (f"scene staging cameras {camera} new", f"cam {camera} {fact}"))
        for made, camera, fact in (
            (MoveCamera(shift=(0.1, 0.0, 0.0)), "agentview", "pos"),
            (MoveCamera(turn=(0.1, 0.0, 0.0)), "agentview", "quat"),
            (MoveCamera(zoom=1.3), "agentview", "fovy"),
            (MoveCamera("robot0_eye_in_hand", zoom=1.3), "robot0_eye_in_hand", "fovy"),
            (Orbit(0.5, 0.2, 1.5), "agentview", "(pos|quat)"),
        )
    ),
    Case(StartPose(joints=0.2), ("scene staging robot joints", "settled arm joints")),
    Case(
        StartPose(base=(0.05, 0.1)),
        ("scene staging robot base", "settled arm base", "body robot0_base pos"),
    ),
]
OTHER = ("put the wine bottle on top of the cabinet", ("On wine_bottle_1 wooden_cabinet_1_top_side",))
WORDS: list[Case] = [
    *(
        Case(made(), SAID)
        for made in listed().values()
        if made.__module__.startswith("assay.perturb.words.rewordings")
        and made not in (OtherTask, Counterfactual, corrupted.Surface)
    ),
    *(Case(corrupted.Surface(form), SAID) for form in corrupted.Form),
    Case(Mask(), SAID),
    Case(Say("switch on the range"), SAID),
    Case(Counterfactual(*OTHER), SAID),
    Case(OtherTask(*OTHER), (*SAID, "goal atoms .* gone", "goal atoms .* new"), ("of_interest",)),
]
SENSES = [Case(made, ()) for made in senses_at(5).values()]
"""The task does not change; effects on images and actions are covered by the tests of senses."""
TABLE: list[Case] = []
if find_spec("assay.extensions.tabletop"):
    from assay.extensions.tabletop.prompts import perturbations as prompts
    from assay.extensions.tabletop.tasks import make
    from assay.extensions.tabletop.tasks.task import Setting

    TABLE += [
        Case(prompts.PermutedObjects(), ()),
        Case(prompts.Gobbledygook("words"), ("prompt text", "asked.*")),
        Case(prompts.PromptMask("language"), ("prompt text", "prompt pictures", "asked.*")),
        Case(prompts.OtherInstruction(), ("prompt text", "asked.*"), ("prompt .*",)),
        Case(prompts.PromptParaphrase(), ("prompt text",)),
        Case(prompts.TextReferents(), ("prompt text",), ("prompt .*",)),
        Case(prompts.Harder("extreme"), ("setting difficulty", "scene .*"), ("(prompt|goal|asked).*",)),
    ]
MEANWHILE = (Displace(0.1), Knock(), Shut(), Cancel())
"""The task does not change until they happen."""
CASES: dict[str, list[Case]] = {}
for _each in (*WORLD, *WORDS, *SENSES, *TABLE):
    CASES.setdefault(_each.made.kind, []).append(_each)
for _what in MEANWHILE:
    for _kind in ("event/at", _what.kind):
        CASES.setdefault(_kind, []).append(Case(At(near(0.1), _what), ()))


@pytest.mark.parametrize(
    ("kind", "case"),
    [(kind, case) for kind in listed() for case in CASES.get(kind, [None])],
    ids=lambda value: str(value.made) if isinstance(value, Case) else None,
)
def test_a_perturbation_changes_the_stated_facts_and_no_others(
    kind: str,
    case: Case | None,
    facts: Callable[[Any], dict[str, Any]],
    differences: Callable[[Any, Any], set[str]],
):
    assert case is not None, f"{kind} has no case here: state what it changes"
    control = make(Setting("T1", 0)) if case.made.world == "tabletop" else tasks.load(case.task)
    after = apply_perturbations(control, (case.made,), seed=1)
    assert after == apply_perturbations(control, case.made, seed=1)
    if not case.made.rebuilds:
        assert after.scene == control.scene, "so the scene need not be compiled again"
    if Effect.GOAL not in case.made.effects:
        assert after.goal == control.goal
    if Effect.WORDS not in case.made.effects:
        assert after.instruction == control.instruction
    found = differences(facts(control), facts(after))
    unsaid = {fact for fact in found if not any(re.fullmatch(say, fact) for say in case.must + case.may)}
    assert not unsaid, f"{case.made} changes what it does not say: {sorted(unsaid)[:10]}"
    for say in case.must:
        assert any(re.fullmatch(say, fact) for fact in found), f"{case.made} leaves '{say}' as it was"


DRAWN = (Recolour(), Recolour(None, Pattern.CHECKER), Room(), *(Replace(among=among) for among in Among))
"""Perturbations whose change is drawn at random."""
VALUES = {
    str(value): value
    for value in (
        *(case.made for cases in CASES.values() for case in cases),
        *DRAWN,
        ExchangePlaces(free=True),
    )
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_perturbation_is_an_immutable_value_that_survives_json_and_rejects_values_out_of_range(
    value: Perturbation,
):
    restored = from_json(json.loads(json.dumps(to_json(value))))
    assert restored == value and hash(restored) == hash(value) and repr(value).isprintable()
    spec = EpisodeSpec("libero_goal/0", 3, perturbations=(value,))
    assert EpisodeSpec.from_json(spec.to_json()) == spec
    with pytest.raises((FrozenInstanceError, TypeError)):  # a TypeError where the class has slots
        value.kind = "other"  # type: ignore[misc]
    for field in fields(value):  # type: ignore[arg-type]
        if "valid" not in field.metadata:
            continue
        low, high = field.metadata["valid"]
        invalid = [low - 1, high + 1, 10**400, nan, inf, "much", [1]]
        invalid += [(low + high) / 2 + 0.3] if isinstance(low, int) and field.type == "int" else []
        if isinstance(getattr(value, field.name), tuple):
            length = len(getattr(value, field.name))
            invalid = [0.5 * (low + high), (), *((number,) * length for number in invalid)]
        for number in invalid:
            with pytest.raises(
                PerturbationError, match=f"^{value.kind}: {field.name} is .*{low:g} to {high:g}"
            ):
                replace(value, **{field.name: number})  # type: ignore[type-var]


@pytest.mark.parametrize("value", DRAWN, ids=str)
def test_the_same_seed_draws_the_same_change(value: Perturbation):
    task = tasks.load("libero_goal/8")
    assert apply_perturbations(task, value, seed=1) == apply_perturbations(task, value, seed=1) != task
