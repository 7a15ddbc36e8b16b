from __future__ import annotations

import pytest

from assay.tasks.labels import Frequency, LabelledTask, category_of, census
from assay.tasks.language.lexicon import object_of

DRAWER = "cabinet_1_top_region"
TASKS = (
    LabelledTask((f"In bowl_1 {DRAWER}", f"Close {DRAWER}"), {"relation": ("container", "ordinal")}, "a"),
    LabelledTask((f"In bowl_1 {DRAWER}",), {"relation": ("container",)}, "a"),
    LabelledTask(
        ("On chefmate_8_frypan_1 flat_stove_1", "On bowl_2 plate_1"), {"relation": ("surface",)}, "b"
    ),
)


def test_a_task_counts_once_for_each_name_and_each_label():
    found = census(TASKS)
    assert found.all == Frequency(2, 3)
    assert found.labels == {
        "relation": {"surface": Frequency(1, 1), "container": Frequency(1, 2), "ordinal": Frequency(1, 1)}
    }
    assert list(found.labels["relation"]) == ["surface", "container", "ordinal"], "in the paper's order"
    assert found.predicates == {"In": Frequency(1, 2), "Close": Frequency(1, 1), "On": Frequency(1, 1)}
    assert found.objects == {
        "bowl": Frequency(2, 3),
        "cabinet": Frequency(1, 1),
        "chefmate_8_frypan": Frequency(1, 1),
    }
    assert found.containers["cabinet"] == Frequency(1, 2) and "" not in found.containers
    assert found.flows["Close", "cabinet", ""] == Frequency(1, 1)
    assert found.as_json()["containers"]["plate"] == {"scenes": 1, "tasks": 1}


@pytest.mark.parametrize(
    ("name", "thing", "category"),
    [
        ("wooden_cabinet_1_top_region", "wooden_cabinet_1", "wooden_cabinet"),
        ("chefmate_8_frypan_1", "chefmate_8_frypan_1", "chefmate_8_frypan"),
        ("main_table_plate_region", "main_table_plate_region", "main_table"),
    ],
)
def test_names_in_goals_tell_the_thing_and_its_category(name: str, thing: str, category: str):
    assert (object_of(name), category_of(name)) == (thing, category)
