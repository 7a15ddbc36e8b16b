from __future__ import annotations

from pathlib import Path

from assay.api.demo import PARTS, DemoExperiment, run_demo
from assay.measures.flaws import Flaw
from assay.runs.store import Store


def test_a_small_demo_reports_on_each_policy_and_compares_them(tmp_path: Path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "oracle-libero.assay").write_text("of yesterday")
    reported: list[str] = []
    page, patients = run_demo(
        tmp_path,
        policies=("oracle", "idle"),
        parts=(DemoExperiment("libero", "libero_goal/7", (0, 1), steps=100),),
        workers=1,
        watch=lambda examined: reported.append(examined.policy),
        sheet=tmp_path / "contact_sheet.png",
    )
    assert reported == ["oracle", "idle"]
    assert [each.findings[0].flaw for each in patients] == [Flaw.NOTHING, Flaw.UNABLE]
    text = page.read_text()
    assert "2 of 2 (34 to 100)" in text and "0 of 2 (0 to 66)" in text
    assert f"{Flaw.UNABLE.claim}: 2 of 2 unperturbed episodes fail" in text
    assert 'src="contact_sheet.png"' in text
    for policy in ("oracle", "idle"):
        assert f'href="{policy}/index.html"' in text and (tmp_path / policy / "index.html").is_file()
        with Store.reading(tmp_path / "runs" / f"{policy}-libero.assay") as run:
            assert run.done == 2 and run.meta["policy"] == policy


def test_episodes_that_the_oracle_cannot_solve_in_time_are_left_out_and_reported(tmp_path: Path):
    part = DemoExperiment("pro", "libero_goal/7", (0,), conditions=("control", "pro/words=xxx"), steps=20)
    page, _ = run_demo(tmp_path, policies=("idle",), parts=(part,), workers=1)
    said = "too slow: the oracle needs more than 20 steps"
    assert said in page.read_text()
    with Store.reading(tmp_path / "runs" / "idle-pro.assay") as run:
        reasons = {each[-1].removeprefix("its control is refused: ") for each in run.meta["refused"]}
        assert run.planned == 0 and reasons == {said}


def test_a_demo_experiment_has_only_the_named_conditions():
    part = DemoExperiment("pro", "libero_goal/6", (0, 1), conditions=("control", "pro/displace=0.2"))
    assert {spec.condition for spec in part.plan("primitives")} == {"control", "pro/displace=0.2"}
    assert len(list(part.plan("primitives"))) == 4
    for part in PARTS:
        known = {spec.condition for spec in DemoExperiment(part.experiment, part.tasks).plan("primitives")}
        assert set(part.conditions) <= known
