"""Tabletop tasks by name."""

from __future__ import annotations

import pytest

from assay.episodes import world_name
from assay.errors import TaskError
from assay.extensions.tabletop.tasks import KINDS, table_entry
from assay.extensions.tabletop.tasks.task import Level, Setting
from assay.extensions.tabletop.world.env import TABLETOP_WORLD


def test_an_id_names_a_kind_at_a_level_and_the_seed_draws_the_rest():
    entry = table_entry("tabletop/T3/L2")
    assert (entry.kind, entry.level, entry.id) == ("T3", Level.L2, "tabletop/T3/L2")
    assert entry.setting(7) == Setting("T3", 7, Level.L2)
    assert world_name(entry.id) == "tabletop" and world_name("libero_goal/3") == "libero"


def test_a_selection_is_made_of_kinds_levels_and_ids_each_task_once():
    everything = TABLETOP_WORLD.select("all")
    assert len(everything) == len(set(everything)) == sum(len(kind.levels) for kind in KINDS.values())
    assert [each.id for each in TABLETOP_WORLD.select("T12, T1/L3, tabletop/T1/L3")] == [
        "tabletop/T12/L1",
        "tabletop/T12/L2",
        "tabletop/T1/L3",
    ]
    assert {each.kind for each in TABLETOP_WORLD.select("L4,T8")} == {"T8", "T10", "T13", "T14"}


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        ("T18", "there is no tabletop task 'T18'"),
        ("libero_goal", "there is no tabletop task 'libero_goal'"),
        ("tabletop/T12/L3", "T12 has no level L3; valid: L1, L2"),
        ("tabletop/T1/L9", "there is no level 'L9'"),
        ("tabletop/T0/L1", "there is no tabletop task 'tabletop/T0/L1'"),
        (" , ", "selects no tabletop task"),
    ],
)
def test_what_there_is_not_is_refused_in_a_line(selection: str, said: str):
    with pytest.raises(TaskError, match=r"^[^\n]+$") as refused:
        TABLETOP_WORLD.select(selection)
    assert said in str(refused.value)
