from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from assay.episodes.perturbation import kinds
from assay.errors import PerturbationError
from assay.perturb import Mask, Perturbation
from assay.perturb.catalogue import catalogue, markdown
from assay.perturb.senses import BlankPictures, Brightness, Contrast, Fog
from assay.perturb.world import (
    Distractors,
    Jitter,
    MoveCamera,
    Orbit,
    Recolour,
    Relight,
    Resize,
    StartPose,
)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Jitter(float("nan")), "world/jitter: radius is nan; valid: 0 to 0.2"),
        (lambda: Jitter("far"), "radius is 'far'"),  # type: ignore[arg-type]
        (lambda: Fog(2.5), "severity is 2.5; valid: whole numbers 1 to 10"),  # type: ignore[arg-type]
        (lambda: Recolour((0.1, 0.2, 1.2)), "colour is (0.1, 0.2, 1.2); valid: 0 to 1"),
        (lambda: MoveCamera(turn=(0.0, 0.0, 2.0)), "valid: -0.6 to 0.6"),
        (lambda: Jitter(None), "radius is None"),  # type: ignore[arg-type]
        (lambda: Jitter((0.03,)), "radius is (0.03,); valid: 0 to 0.2"),  # type: ignore[arg-type]
        (lambda: Distractors(True), "count is True; valid: whole numbers 1 to 8"),
        (lambda: Recolour(()), "colour is (); valid: 0 to 1, 3 of them"),  # type: ignore[arg-type]
        (lambda: Recolour((0.1, 0.2)), "valid: 0 to 1, 3 of them"),  # type: ignore[arg-type]
        (lambda: Recolour(0.5), "valid: 0 to 1, 3 of them"),  # type: ignore[arg-type]
        (lambda: Relight(colour=(0.5, 0.5)), "valid: 0 to 2, 3 of them"),  # type: ignore[arg-type]
    ],
)
def test_a_number_out_of_range_is_refused_in_one_line(make: Callable[[], Perturbation], words: str):
    with pytest.raises(PerturbationError) as caught:
        make()
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        Relight,
        StartPose,
        MoveCamera,
        Orbit,
        lambda: Resize(1.0),
        lambda: Jitter(0.0),
        lambda: Brightness(1.0),
        lambda: Contrast(1.0),
    ],
)
def test_what_would_change_nothing_is_refused_in_one_line(make: Callable[[], Perturbation]):
    with pytest.raises(PerturbationError, match=r"^[\w/]+: nothing is changed; valid: another [\w ]+$"):
        make()


def test_none_is_valid_where_it_is_the_default():
    assert Recolour(None).colour is None


def test_a_perturbation_without_source_is_described_without_its_fields_texts(
    monkeypatch: pytest.MonkeyPatch,
):
    names: dict[str, Any] = {"__name__": "interactive"}
    code = """
import assay, dataclasses
@dataclasses.dataclass(frozen=True)
class Typed(assay.Perturbation):
    "Typed in."
    kind = "words/typed"
    effects = frozenset()
    times: int = 1
"""
    exec(compile(code, "<stdin>", "exec", dont_inherit=True), names)
    monkeypatch.setitem(import_module(kinds.__module__)._KINDS, "words/typed", names["Typed"])
    (described,) = [each for each in catalogue() if each.kind == "words/typed"]
    assert described.about == "Typed in." and described.fields == ("`times=1`",)


def test_every_perturbation_is_described_with_all_its_fields():
    described = {each.kind: each for each in catalogue()}
    assert set(described) == {kind for kind in kinds() if not kind.startswith("release/")}
    jitter = described["world/jitter"]
    assert jitter.fields == ("`radius` (0 to 0.2): metres",) and jitter.plausible == "yes"
    assert "Every object on the workspace" in jitter.about
    assert described["words/mask"].plausible == "no" and Mask.plausible is False
    assert described["senses/blank_pictures"].plausible == "unless on every camera"
    for each in described.values():
        assert each.about and "|" not in each.about


def test_blank_pictures_are_plausible_on_one_camera():
    assert not BlankPictures().plausible and BlankPictures(cameras=("agentview",)).plausible


def test_the_command_prints_the_table_of_the_reference(assay: Callable[..., Any]):
    result = assay("experiments", "perturbations", "--markdown")
    assert result.status == 0 and result.out.strip() == markdown(catalogue())
