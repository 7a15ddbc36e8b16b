from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from assay.episodes import EpisodeSpec
from assay.perturb.world.position import Displace
from assay.runs.certificates import (
    Certificate,
    CertificateCache,
    ClaimVerdict,
    Refusal,
    admit,
    claim,
    count_reasons,
    recall,
    refusal,
    remember,
    summarise,
)
from assay.runs.shards import merge
from assay.runs.store import Store

CONTROL = EpisodeSpec("libero_goal/1", 0, experiment="x")
MOVED = replace(CONTROL, condition="moved", perturbations=(Displace(0.1),), labels={"level": 1})
SOLVED, SLOWER = Certificate(ClaimVerdict.SOLVED, 100), Certificate(ClaimVerdict.SOLVED, 145)
FAILED = Certificate(ClaimVerdict.FAILED, why="not reached: On a b")


def certified(cache: CertificateCache, control: Certificate, moved: Certificate) -> None:
    cache.add(claim(CONTROL), control)
    cache.add(claim(MOVED), moved)


def test_unsolved_episode_is_refused_and_its_control_is_served(cache: CertificateCache):
    cache.add(claim(CONTROL), SOLVED)
    assert admit([CONTROL, MOVED], cache)[0] == [CONTROL], "an episode without a certificate is refused"
    certified(cache, SOLVED, FAILED)
    admitted, refused = admit([CONTROL, MOVED], cache)
    assert admitted == [CONTROL]
    assert count_reasons(refused) == {"demonstrator failed: not reached: On a b": 1}


def test_episode_without_a_control_is_refused_so_that_pairs_stay_matched(cache: CertificateCache):
    certified(cache, FAILED, SOLVED)
    admitted, refused = admit([CONTROL, MOVED], cache)
    assert admitted == []
    reason = refusal(CONTROL, FAILED)
    assert list(count_reasons(refused)) == [reason, f"its control is refused: {reason}"]


def test_time_limit_is_a_multiple_of_the_demonstrators_time_in_the_same_scene(cache: CertificateCache):
    certified(cache, SOLVED, SLOWER)
    served, _ = admit([CONTROL, MOVED], cache, limit=1.1)
    assert [spec.steps for spec in served] == [110, 160]
    assert served[1].labels == {"level": 1, "reference_steps": 145, "limit_factor": 1.1}
    assert MOVED.labels == {"level": 1}
    (_, moved), _ = admit([CONTROL, MOVED], cache, limit=0.0)
    assert moved.steps is None and moved.labels["reference_steps"] == 145
    assert moved.labels["limit_factor"] is None
    assert admit([MOVED], cache)[0] == [MOVED]


def test_scene_that_takes_the_demonstrator_longer_than_the_limit_is_refused(cache: CertificateCache):
    certified(cache, SOLVED, SLOWER)
    hurried = [replace(spec, steps=120) for spec in (CONTROL, MOVED)]
    admitted, refused = admit(hurried, cache)
    assert admitted == hurried[:1]
    assert list(count_reasons(refused)) == ["too slow: the oracle needs more than 120 steps"]
    *_, whole = summarise(hurried, cache)
    assert (whole.certified, whole.scenes) == (1, 2), "what is said to be certified is what is served"


def test_refusals_of_a_run_are_kept_when_it_is_extended_or_merged(tmp_path: Path):
    first, second, again = (Refusal("moved", "a", seed, "why") for seed in (0, 1, 1))
    meta = dict.fromkeys(("experiment", "policy", "pack", "pack_digest", "mujoco"), "same")

    def planned(seed: int) -> list[EpisodeSpec]:
        return [EpisodeSpec("a", seed, condition="moved")]

    for name, refused in (("one", [first]), ("two", [second])):
        with Store.writing(tmp_path / f"{name}.assay") as store:
            store.describe(**meta)
            assert recall(store) == []
            remember(store, refused, planned(refused[0].seed))
    with Store.writing(tmp_path / "one.assay") as store:
        remember(store, [again], planned(1))
        assert recall(store) == [first, again]
        remember(store, [again], planned(1))
        assert recall(store) == [first, again]
        remember(store, [], [EpisodeSpec("a", 1, condition="another")])
        assert recall(store) == [first, again], "nothing was asked about its condition"
        remember(store, [], planned(1))
        assert recall(store) == [first]
    merge([tmp_path / "one.assay", tmp_path / "two.assay"], tmp_path / "both.assay")
    with Store.reading(tmp_path / "both.assay") as store:
        assert recall(store) == [first, second]
