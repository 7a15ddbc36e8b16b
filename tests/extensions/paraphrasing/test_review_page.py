"""The review sheet in a real browser: Debian's chromium, headless."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.extensions.paraphrasing.human_check import read_decisions
from assay.extensions.paraphrasing.review import _review_page
from assay.perturb.words.grid.rules import verify
from assay.perturb.words.grid.table import GridRow

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
ORIGINAL = "put the bowl on the stove"
TABLE = [
    GridRow(2, "libero_goal/1", "none", "hint", ORIGINAL, 'the "bowl", <b>still</b> off the stove'),
    GridRow(3, "libero_goal/1", "habitual", "none", ORIGINAL, "put the plate on the range"),
    GridRow(4, "libero_goal/1", "none", "hint", ORIGINAL, "the bowl goes on the stove"),
]


@pytest.fixture
def page(tmp_path: Path) -> Any:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium here (scripts/ensure-system.sh)")
    file = tmp_path / "review.html"
    file.write_text(_review_page(TABLE, list(verify(TABLE)), {}, name="grid.csv"), encoding="utf-8")
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = started.chromium.launch(executable_path=path, args=arguments)
        opened = browser.new_page()
        opened.set_default_timeout(60_000)
        complaints: list[str] = []
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.goto(file.as_uri())
        yield opened
        assert complaints == []
        browser.close()


def test_rows_are_decided_with_keys_and_clicks_and_saved(page: Any, tmp_path: Path) -> None:
    state = page.locator("#state")
    page.locator("[data-row='2']").focus()
    page.keyboard.press("r")  # on to the next row of the page, the first of the table
    page.keyboard.press("a")
    expect(state).to_have_text("1 accepted, 1 rejected, 1 of 3 undecided")
    page.locator("[data-row='3'] button", has_text="accept").click()
    page.locator("[data-row='3'] input").fill("a, fine")
    page.reload()
    expect(state).to_have_text("2 accepted, 1 rejected, 0 of 3 undecided")
    page.locator("#show").select_option("flawed")
    expect(page.locator(".row:visible .text")).to_have_text(["put the plate on the range"])
    expect(page.locator(".row:visible small").first).to_contain_text("'plate' refers to the plate")
    with page.expect_download() as saved:
        page.locator("#save").click()
    saved.value.save_as(tmp_path / "decisions.csv")
    decided = read_decisions(tmp_path / "decisions.csv", TABLE)
    assert decided == ["accept", "reject", "accept"]
    assert '"a, fine"' in (tmp_path / "decisions.csv").read_text()
