"""The web app in a real browser: Debian's chromium, headless."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.episodes import Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.report.wording import NOT
from assay.runs.store import Store

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
expect.set_options(timeout=60_000)

WIDE, NARROW = 1280, 800


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium here (scripts/ensure-chromium.sh)")
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = started.chromium.launch(executable_path=path, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser, address: str) -> Iterator[Any]:
    """A page in which nothing goes wrong: no error in a script, nothing that the policy forbids."""
    context = browser.new_context(base_url=f"http://{address}", viewport={"width": WIDE, "height": 900})
    context.set_default_timeout(60_000)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    foreign: list[str] = []
    opened.on("request", lambda sent: foreign.append(sent.url) if address not in sent.url else None)
    yield opened
    context.close()
    assert (complaints, foreign) == ([], [])


def fits(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


def test_runs_are_searched_and_sorted_with_the_keyboard(page):
    page.goto("/")
    names = page.locator("#runs tbody tr:visible th")
    expect(names).to_have_count(8)
    page.get_by_label("Search").press_sequentially("random")
    expect(names).to_have_count(1)
    page.get_by_label("Search").fill("no such run")
    expect(page.get_by_text("No run has that")).to_be_visible()
    page.get_by_label("Search").fill("")
    page.get_by_role("button", name="run", exact=True).focus()
    page.keyboard.press("Enter")
    expect(names.first).to_have_text("blind")
    page.keyboard.press("Enter")
    expect(names.first).to_have_text("more/short ö#?")
    expect(names.last).not_to_have_text("blind")  # what cannot be read stays at the end
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_cell_of_the_heat_map_leads_to_its_episodes(page):
    page.goto("/")
    page.get_by_role("link", name="blind", exact=True).click()
    expect(page.locator(".heat td a")).to_have_count(44)
    page.get_by_role("link", name="object habitual, action hint").click()
    expect(page.locator("table.episodes tbody tr")).to_have_count(2)
    assert page.title() == "Episodes of blind · Assay"  # what the instruction would do if it could
    page.get_by_label("outcome").select_option("failure")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("p.empty")).to_contain_text("No episode is like that")


def test_an_episode_is_watched_beside_its_control(page, drawing):
    page.goto("/runs/more/short%20%C3%B6%23%3F.assay/episodes?says=bowl")
    page.locator("table.episodes tbody a").first.click()
    expect(page.locator("ins")).to_have_text(["put the bowl", "plate"])
    expect(page.locator("#player video:not([hidden])")).to_have_count(2)
    videos = page.locator("#player video")
    for number in range(2):
        expect(videos.nth(number)).to_have_js_property("videoHeight", 358)
    slider = page.get_by_label("Step")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(page.locator("[data-step]")).to_have_text("step 4 of 8")
    expect(page.locator(".strip .now").first).to_have_attribute("x1", "4")
    times = videos.evaluate_all("all => all.map(each => each.currentTime)")
    assert times == [pytest.approx(2.5 / 20)] * 2  # a picture for every second step, at 20 a second
    page.get_by_role("button", name="Play").click()
    expect(page.locator("[data-step]")).to_have_text("step 8 of 8")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert fits(page)


def test_where_there_is_no_film_the_rest_works(page):
    page.goto("/runs/broken.assay/episodes")
    page.locator("table.episodes tbody a").click()
    expect(page.locator(".wait")).to_contain_text("No actions are recorded")
    expect(page.locator(".problem").first).to_contain_text("<script>")


def test_a_run_shows_what_happens_while_it_is_written(page, library: Path):
    path = library / "written.assay"
    with Store.reading(library / "blind.assay") as store:
        specs = store.specs([1, 2, 3, 4])
    try:
        with Store.writing(path) as store:
            store.plan(specs)
            page.goto("/runs/written.assay")
            line = page.locator("tr", has_text="control")
            expect(line.locator("[data-part=rate]")).to_have_text(NOT)
            store.append(1, Episode(Outcome.SUCCESS, 3, no_trajectory()))
            store.append(2, Episode(Outcome.FAILURE, 3, no_trajectory()))
            expect(line.locator("[data-part=rate]")).to_have_text("100.0 %")
            expect(page.locator("[data-live=done]")).to_have_text("2")
            expect(page.locator(".live")).to_be_visible()
            expect(page.locator("[data-line=g-habitual-hint] b")).to_have_text("0 %")
        expect(page.locator(".live")).to_be_hidden()
    finally:
        path.unlink()


def test_pages_fit_a_narrow_window_and_can_be_printed(page, keys, tmp_path: Path):
    page.set_viewport_size({"width": NARROW, "height": 900})
    for address in (
        "/",
        "/runs/blind.assay",
        "/runs/blind.assay/episodes",
        f"/runs/blind.assay/episodes/{keys['the burner is still cold']}",
        "/compare?a=blind&b=idle",
        "/runs/blind.assay/report",
    ):
        page.goto(address)
        assert fits(page), address
        assert len(page.pdf()) > 5_000
    frame = page.frame_locator("iframe.report")
    expect(frame.locator("h1")).to_contain_text("blind on para")


def test_two_runs_are_chosen_and_compared(page):
    page.goto("/compare")
    page.locator("select[name=a]").select_option("blind")
    page.locator("select[name=b]").select_option("idle")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("table").first.locator("tbody tr")).to_have_count(2)
    page.locator("table.episodes tbody a").click()
    expect(page.locator("table.beside thead")).to_contain_text("the same in idle")
