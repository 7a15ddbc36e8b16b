"""Requests, valid and invalid, to a real server on the local machine."""

from __future__ import annotations

import hashlib
import json
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest
import uvicorn
from markupsafe import escape

from assay.episodes import EpisodeSpec, Outcome
from assay.episodes.episode import Episode, no_trajectory
from assay.runs.executor import EpisodeRunner, WorkerConfig
from assay.runs.store import Store
from assay.web.app import MAX_REQUESTS, application
from assay.web.library import Library
from assay.web.replays import Replays

from .conftest import HOSTILE

RUN = "/runs/blind.assay"
ODD = quote("more/short ö#?")


def addresses(keys: dict[str, str]) -> list[str]:
    key = keys[HOSTILE]
    return [
        "/",
        RUN,
        f"{RUN}/episodes",
        f"{RUN}/episodes?outcome=success&sort=-steps",
        f"{RUN}/gallery?sort=-steps",
        f"{RUN}/episodes/{key}",
        f"{RUN}/episodes/{key}?beside=idle",
        "/runs/broken.assay",
        "/runs/broken.assay/episodes",
        f"/runs/{ODD}.assay/episodes?label=axis%3Dwords",
        "/compare",
        "/glossary",
        "/compare?a=blind&b=idle",
        "/compare?a=blind&b=broken",
        "/nothing",
        "/runs/cut.assay",
    ]


class Page(HTMLParser):
    """The resources that a browser would load and the scripts that it would run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "action")]
        self.inline += [name for name in given if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)


def test_every_page_escapes_the_content_of_runs_and_loads_nothing_from_other_hosts(get, keys):
    for address in addresses(keys):
        answer = get(address)
        assert answer.headers["content-security-policy"].startswith("default-src 'self'"), address
        page = Page(answer.text)
        assert not page.inline and all(link.startswith(("/", "#", "?")) for link in page.links), address
    assert f'class="said">{escape(HOSTILE)}' in get(f"{RUN}/episodes?says=script").text


def test_the_report_runs_nothing_and_fetches_nothing(get):
    for page in ("report.html", "report"):
        answer = get(f"{RUN}/{page}")
        assert answer.status == 200 and "<h1" in answer.text
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "sandbox" in policy and "script-src" not in policy
        assert ('href="/runs/blind.assay/episodes"' in answer.text) == (page == "report")


def test_a_run_page_has_its_control_and_its_finding(get):
    page = get(RUN).text
    assert "100.0 %" in page and f'data-finding="{RUN}/finding"' in page
    found = json.loads(get(f"{RUN}/finding").text)["findings"]
    assert found and all(
        escape(each) in get(f"{RUN}/report").text.replace("\N{NO-BREAK SPACE}", " ") for each in found
    )
    assert "ended in an error" in json.loads(get("/runs/broken.assay/finding").text)["findings"][0]


def test_links_between_episodes_keep_the_order_and_the_filter(get, keys):
    asked = "outcome=success&sort=-seed"
    page = get(f"{RUN}/episodes/{keys['turn on the stove']}?{asked}").text
    links = [link for link in Page(page).links if "/episodes/" in link and "?" in link]
    assert links and all(link.endswith("?outcome=success&sort=-seed") for link in links)


def test_runs_that_cannot_be_read_are_listed_with_the_reason(get):
    text = get("/").text
    assert text.count("cannot be read:") == 4
    for reason in ("file is not a database", "outside the folder", "a folder"):
        assert reason in text
    assert get("/runs/text.assay").status == get("/runs/cut.assay").status == 422
    assert "not a run, or damaged" in get("/runs/text.assay").text


def test_nothing_but_the_runs_in_the_folder_is_served(get):
    for path in (
        "/runs/../outside.assay",
        "/runs/..%2foutside.assay",
        "/runs//etc/passwd.assay",
        "/runs/link.assay",
        "/runs/folder.assay",
        "/runs/secret.txt",
        "/runs/a%00b.assay",
        "/runs/%ff%fe.assay",
        f"/runs/{'a' * 5000}.assay",
        "/static/..%2f..%2fapp.py",
        f"{RUN}/episodes/{'0' * 32}",
        f"{RUN}/episodes/{'0' * 32}/video",
        f"{RUN}/episodes/..%2f..%2foutside/video.mp4",
        "/compare?a=blind&b=../outside",
        "/openapi.json",
    ):
        answer = get(path)
        assert answer.status == 404 and "Traceback" not in answer.text and "secret" not in answer.text


def test_invalid_parameters_are_rejected_and_unusual_ones_match_nothing(get):
    for query in (f"task={'a' * 301}", "page=0", "page=x", f"page={2**63}", "sort=spec", "outcome=odd"):
        assert get(f"{RUN}/episodes?{query}").status == 400
    for query in ("task=%00", "says=%25", "says=%ff", "label=%22'%5C=1", "action=%F0%9F"):
        answer = get(f"{RUN}/episodes?{query}")
        assert answer.status == 200 and "No episode matches these filters" in answer.text


def test_a_damaged_run_is_reported_on_every_page(get, library: Path):
    path = library / "damaged.assay"
    path.write_bytes((library / "blind.assay").read_bytes())
    with sqlite3.connect(path) as db:
        db.execute("UPDATE episodes SET truth = 'no JSON', steps = 'many'")
        key = db.execute("SELECT key FROM specs").fetchone()[0]
    db.close()
    try:
        for page in ("", "/episodes", f"/episodes/{key}", f"/episodes/{key}/video", "/report.html"):
            answer = get(f"/runs/damaged.assay{page}")
            assert "Traceback" not in answer.text, page
            assert "cannot be decoded" in answer.text or answer.status == 404, page
        assert "cannot be decoded" in get("/").text
    finally:
        path.unlink()


@pytest.mark.extensions("tabletop")
def test_a_tabletop_episode_has_a_page(get, library: Path):
    path = library / "table.assay"
    spec = EpisodeSpec("tabletop/T1/L1", 0, pack="tabletop", labels={"kind": "T1", "level": "L1", "best": 1})
    with Store.writing(path) as store:
        store.plan([spec])
        store.append(1, EpisodeRunner(WorkerConfig("oracle", "tabletop")).run(spec))
    try:
        page = get(f"/runs/table.assay/episodes/{spec.key}").text
        assert "task's original instruction." in page.replace("&#39;", "'")
        assert "held first" in page and "20 Hz" not in page and "End-effector path" not in page
        assert 'data-lasts="1000"' in page  # as long as its video shows an action
        for other in ("", "/episodes", "/report.html"):
            assert get(f"/runs/table.assay{other}").status == 200
    finally:
        path.unlink()


def test_reading_changes_no_file(get, library: Path, keys):
    def state() -> dict[str, str]:
        files = [path for path in library.rglob("*") if path.is_file()]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    before = state()
    for address in addresses(keys):
        get(address)
    assert state() == before


def test_a_run_is_live_while_it_is_written_and_its_driver_is_not_disturbed(
    get, library: Path, tmp_path: Path
):
    path = library / "growing.assay"
    with Store.reading(library / "blind.assay") as store:
        specs = store.specs([1, 2, 3, 4])
    try:
        with Store.writing(path) as store:
            store.plan(specs)
            assert get("/runs/growing.assay").status == 200
            for number in (1, 2):
                store.append(number, Episode(Outcome.SUCCESS, 3, no_trajectory()))
            page = get("/runs/growing.assay").text
            assert "data-running" in page and '<span data-live="done">2 of 4' in page
            assert (
                page.count("<b>100.0 %</b>") == 2 and page.count("<b>100 %</b>") == 2
            )  # conditions and cells
            assert "running</span>" in get("/").text
        assert not path.with_name("growing.assay-wal").exists()
        assert "data-running" not in get("/runs/growing.assay").text
    finally:
        path.unlink()


def test_two_runs_are_compared_pair_by_pair(get, keys):
    text = get("/compare?a=blind&b=idle").text
    assert (
        "Compared on the 1 episode that both runs finished" in text
        and f"{RUN}/episodes/{keys['turn on the stove']}?beside=idle" in text
    )
    assert "share no episode" in get(f"/compare?a=blind&b={ODD}").text
    assert "all 1 episodes ended in an error" in get("/compare?a=blind&b=broken").text


def test_an_error_episode_shows_the_traceback_and_the_clipped_actions(get, library):
    with Store.reading(library / "broken.assay") as store:
        (key,) = store.frame()["key"]
    page = get(f"/runs/broken.assay/episodes/{key}").text
    assert "mine.py&#34;, line 7, in act" in page and "3 of 0 actions were outside [-1, 1]" in page
    assert (
        "words/cancel at near(0.1): triggered after step 9 (due after step 7); new instruction “stop”."
        in page
    )
    assert "<script>document.title" not in page


def test_an_episode_page_has_the_wording_the_paths_and_the_stages(get, keys):
    page = get(f"{RUN}/episodes/{keys['put the bowl on the plate']}").text
    assert 'class="outcome unasked"' in page or 'class="outcome right"' in page, "failing is correct here"
    assert "<del>turn</del>" in page and "<ins>put the bowl</ins>" in page and "<del>stove</del>" in page
    assert page.count("<polyline") == 4 + 2 * 8 and "its control" in page
    page = get(f"{RUN}/episodes/{keys['turn on the stove']}").text
    assert page.count('class="strip panel"') == 4 and 'class="stages"' in page
    for head in ("goal still holds after release", "peak force", "path length, jerk"):
        assert f'<th scope="row">{head}</th>' in page


def test_other_hosts_sites_and_methods_are_rejected(get, address, keys):
    port = address.split(":")[1]
    assert get("/", Host=f"localhost:{port}").status == get("/", Host=address).status == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", ""):
        assert get("/", Host=host).status == 400
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert get(RUN, method).status == 405


def test_requests_from_other_sites_get_a_page_to_continue_and_cause_no_work(get, keys):
    video = f"{RUN}/episodes/{keys[HOSTILE]}/video"
    work = [f"{RUN}/report", f"{RUN}/report.html", f"{RUN}/finding", video, f"{video}.mp4", "//evil.example/"]
    for address in (*addresses(keys), *work):
        for site in ("cross-site", "same-site"):
            answer = get(address, Sec_Fetch_Site=site)
            assert answer.status == 403 and '<a href="">Continue</a>' in answer.text, address
    for site in ("same-origin", "none"):
        assert get(RUN, Sec_Fetch_Site=site).status == 200
        assert get(RUN, Sec_Fetch_Site=site, Origin="null").status == 200, "a form of a page without referrer"
    assert get(RUN, Origin="http://evil.example").status == 403, "an old browser"
    assert get("/static/ui.css", Sec_Fetch_Site="cross-site").status == 200


@pytest.fixture
def busy(library: Path) -> Iterator[tuple[str, threading.Event]]:
    """An app in this process whose findings wait for an event; yield its host and port, and the event."""
    app, go = application(Library(library), Replays()), threading.Event()

    def wait(path: Path) -> tuple[str, tuple[str, ...]]:
        assert go.wait(60)
        return "", ()

    app.state.site.report = wait
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", go
        go.set()
        server.should_exit = True
        thread.join(60)


def test_requests_cannot_occupy_all_threads_of_the_app(busy: tuple[str, threading.Event]):
    address, go = busy

    def request(number: int) -> HTTPConnection:
        connection = HTTPConnection(address, timeout=60, source_address=(f"127.0.0.{1 + number % 2}", 0))
        connection.request("GET", f"{RUN}/finding")
        return connection

    connections = [request(number) for number in range(MAX_REQUESTS + 3)]
    ready: list[socket.socket] = []
    while len(ready) < 3:  # those above the limit are answered while the others wait
        ready, _, _ = select.select([connection.sock for connection in connections], [], [], 60)
        assert ready
    refused = [connection for connection in connections if connection.sock in ready]
    assert [connection.getresponse().status for connection in refused] == [503] * 3
    go.set()
    waiting = [connection for connection in connections if connection not in refused]
    assert [connection.getresponse().status for connection in waiting] == [200] * MAX_REQUESTS
    for connection in connections:
        connection.close()


ASSAY = Path(sys.executable).with_name("assay")


def test_ctrl_c_ends_the_server_cleanly(tmp_path: Path):
    process = subprocess.Popen(
        [ASSAY, "ui", tmp_path, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert f"serving {tmp_path} at http://127.0.0.1:" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_an_occupied_port_is_reported(tmp_path: Path, assay):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = assay("ui", tmp_path, "--port", str(port))
    assert said.status == 2
    assert f"127.0.0.1:{port}: address already in use; choose another --port" in " ".join(said.err.split())
