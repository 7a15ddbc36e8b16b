from __future__ import annotations

from assay.measures.conduct.progress import progress

BOTH = ("On soup_1 basket_1_contain_region", "On sauce_1 basket_1_contain_region")


def held(first: tuple, second: tuple = ()) -> dict:
    """When each of two atoms held."""
    return dict(zip(BOTH, (first, second), strict=True))


def test_progress_is_the_share_of_atoms_at_the_end_and_the_most_at_once(run, made):
    store = run(
        [
            made(True, seed=0, truth=held(((50, 101),), ((100, 101),))),
            made(False, seed=1, truth=held(((50, 101),))),  # one is there, and stays
            made(False, seed=2, truth=held(((50, 60),))),  # one was there
            made(False, seed=3, truth=held(((50, 60),), ((55, 101),))),  # both were, for a moment
        ]
    )
    (found,) = progress(store.frame())
    assert (found.group, found.count) == ({"condition": "control"}, 4)
    assert (found.success, found.at_end, found.best) == (0.25, 0.5, 0.75)
    assert found.at_end_interval.low < 0.5 < found.at_end_interval.high < 1
    assert found.best_interval.low < 0.75 < found.best_interval.high


def test_each_condition_has_its_own(run, made):
    rows = [made(True, seed=seed, truth=held(((9, 101),), ((9, 101),))) for seed in range(3)]
    rows += [made(False, seed=seed, condition="moved", truth=held(((9, 101),))) for seed in range(3)]
    found = {each.group["condition"]: each.at_end for each in progress(run(rows).frame())}
    assert found == {"control": 1.0, "moved": 0.5}


def test_goals_of_one_atom_have_nothing_between_all_and_nothing(run, made):
    assert progress(run([made(True), made(False, seed=1)]).frame()) == ()
