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
from assay.measures.views.wording import NOT
from assay.runs.store import Store

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
expect.set_options(timeout=60_000)

WIDE, NARROW, PHONE = 1280, 800, 390


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium here (scripts/ensure-system.sh)")
    with playwright.sync_playwright() as started:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = started.chromium.launch(executable_path=path, args=arguments)
        yield chromium
        chromium.close()


both = pytest.mark.parametrize(
    "page", [(WIDE, "light"), (PHONE, "dark")], indirect=True, ids=["desktop", "phone"]
)


@pytest.fixture
def page(request: pytest.FixtureRequest, browser, address: str) -> Iterator[Any]:
    """A page that must cause neither script errors nor violations of the content security policy."""
    width, scheme = getattr(request, "param", (WIDE, "light"))
    context = browser.new_context(
        base_url=f"http://{address}", viewport={"width": width, "height": 900}, color_scheme=scheme
    )
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
    assert page.url.endswith("?q=random")
    page.reload()
    expect(names).to_have_count(1)  # the address says it
    page.get_by_label("Search").fill("no such run")
    expect(page.get_by_text("No run matches")).to_be_visible()
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
    page.wait_for_load_state()  # the script of the page listens to the choice
    page.get_by_label("outcome").select_option("failure")  # applies at once
    expect(page.locator("p.empty")).to_contain_text("No episode matches these filters")


@both
def test_an_episode_is_watched_beside_its_control(page, drawing):
    page.goto("/runs/more/short%20%C3%B6%23%3F.assay/episodes?says=bowl")
    page.locator("table.episodes tbody a").first.click()
    assert page.url.endswith("?says=bowl")
    expect(page.locator(".neighbours")).to_contain_text("1 of 2 with these filters")
    page.wait_for_load_state()  # keys are listened to from then on
    page.keyboard.press("j")
    expect(page.locator(".neighbours")).to_contain_text("2 of 2 with these filters")
    page.wait_for_load_state()
    page.keyboard.press("k")
    expect(page.locator(".neighbours")).to_contain_text("1 of 2 with these filters")
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
    expect(page.locator(".panel .now").first).to_have_attribute("x1", "4")
    times = videos.evaluate_all("all => all.map(each => each.currentTime)")
    assert times == [pytest.approx(4 * 0.05 + 0.02)] * 2  # videos play in real time, whatever their rate
    page.wait_for_url("**step=4*")
    page.reload()
    expect(page.locator("[data-step]")).to_have_text("step 4 of 8")
    slider.blur()
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    expect(page.locator("[data-step]")).to_have_text("step 8 of 8")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator("table.episodes tbody tr")).to_have_count(2)


def test_a_run_shows_what_happens_while_it_is_written(page, library: Path):
    path = library / "written.assay"
    with Store.reading(library / "blind.assay") as store:
        specs = store.specs([1, 2, 3, 4])
    try:
        with Store.writing(path) as store:
            store.plan(specs)
            page.goto("/runs/written.assay")
            line = page.locator("tr", has_text="control")
            expect(line.locator("td").first).to_have_text(NOT)
            expect(line.locator("rect.point")).to_be_hidden()  # nothing is not 0 %
            store.append(1, Episode(Outcome.SUCCESS, 3, no_trajectory()))
            store.append(2, Episode(Outcome.FAILURE, 3, no_trajectory()))
            expect(line.locator("td").first).to_have_text("100.0 %")
            expect(page.locator("[data-live=done]")).to_contain_text("2 of 4")
            expect(line.locator("rect.point")).to_be_visible()
            store.append(3, Episode(Outcome.FAILURE, 3, no_trajectory()))
            expect(page.locator(".live")).to_be_visible()
            expect(page.get_by_role("link", name="object habitual, action hint").locator("b")).to_have_text(
                "0 %"
            )
        expect(page.locator(".live")).to_be_hidden()
    finally:
        path.unlink()


def test_pages_fit_every_window_in_light_and_dark_and_can_be_printed(page, keys):
    for width, scheme in ((PHONE, "dark"), (NARROW, "light")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        for address in (
            "/",
            "/runs/blind.assay",
            "/runs/blind.assay/episodes",
            "/runs/blind.assay/gallery",
            f"/runs/blind.assay/episodes/{keys['the burner is still cold']}",
            "/compare?a=blind&b=idle",
            "/runs/blind.assay/report",
        ):
            page.goto(address)
            assert fits(page), (address, width)
            assert brightness(page) < 60 if scheme == "dark" else brightness(page) > 240, (address, scheme)
    assert len(page.pdf()) > 5_000
    expect(page.locator("h1")).to_contain_text("blind on para")  # no frame within the page
    page.get_by_role("link", name="Gallery").click()
    assert page.title() == "Gallery of blind · Assay"


def brightness(page: Any) -> float:
    """Return the brightness of the page's background, from 0 to 255."""
    colours = page.evaluate(
        "[document.body, document.documentElement].map(each => getComputedStyle(each).backgroundColor)"
    )
    shown = next(each for each in colours if not each.startswith("rgba(0, 0, 0, 0"))
    return sum(map(int, shown.removeprefix("rgb(").removesuffix(")").split(", "))) / 3


def test_keyboard_shortcuts_are_listed_and_do_not_interfere_with_typing(page):
    page.goto("/runs/blind.assay")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("play or pause the videos")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("e")
    page.wait_for_url("**/episodes")
    page.keyboard.press("/")
    page.keyboard.type("g bowl")  # in a field letters are letters
    page.keyboard.press("Enter")
    page.wait_for_url("**says=g+bowl*")


@both
def test_a_gallery_shows_how_episodes_ended(page, drawing):
    page.goto("/runs/more/short%20%C3%B6%23%3F.assay/gallery?outcome=failure&says=bowl")
    cards = page.locator(".gallery .card")
    expect(cards).to_have_count(2)
    expect(page.locator(".still img")).to_have_count(2)
    expect(page.locator(".still img").first).to_have_js_property("naturalWidth", 512)
    page.get_by_label("sort by").select_option("-steps")
    page.wait_for_url("**sort=-steps*")
    cards.first.click()
    expect(page.locator(".neighbours")).to_contain_text("1 of 2 with these filters")


@both
def test_two_runs_are_chosen_and_compared(page):
    page.goto("/")
    compare = page.get_by_role("button", name="Compare selected runs")
    expect(compare).to_be_disabled()
    for name in ("blind", "idle"):
        page.get_by_label(f"Select {name} for comparison").check()
    compare.click()
    expect(page.locator("table").first.locator("tbody tr")).to_have_count(2)
    page.locator("table.episodes tbody a").click()
    expect(page.locator("table.beside thead")).to_contain_text("the same episode in")


def test_a_link_on_another_site_leads_to_the_page_after_one_click_and_the_reports_links_directly(
    browser, address: str
):
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"http://{address.replace('127.0.0.1', 'localhost')}/glossary")  # a different site
    page.evaluate(f"location.href = 'http://{address}/runs/blind.assay/report'")
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("link", name="Episodes").click()
    expect(page).to_have_url(f"http://{address}/runs/blind.assay/episodes")
    expect(page.get_by_role("table")).to_be_visible()
    context.close()
