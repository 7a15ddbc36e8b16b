"use strict";

/* Tables that sort by a column: numbers by their data-value, texts in natural order. */
document.querySelectorAll("table[data-sortable]").forEach(makeSortable);

function makeSortable(table) {
  let column = 0;
  for (const head of table.tHead.rows[0].cells) {
    const place = column;
    column += head.colSpan;
    if (head.querySelector(".sr")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      sort(table, head, place);
      remember("sort", `${place}${head.getAttribute("aria-sort") === "descending" ? "-" : ""}`);
    });
    const asked = new URLSearchParams(location.search).get("sort");
    if (asked && parseInt(asked, 10) === place) sort(table, head, place, asked.endsWith("-") ? "descending" : "ascending");
  }
}

/* The state of a page is in its address, so that it can be bookmarked and shared. */
function remember(name, value) {
  const address = new URL(location.href);
  if (value === "") address.searchParams.delete(name);
  else address.searchParams.set(name, value);
  history.replaceState(null, "", address);
}

function sort(table, head, column, wanted) {
  const numeric = head.classList.contains("number");
  const first = numeric ? "descending" : "ascending";
  const second = numeric ? "ascending" : "descending";
  const order = wanted ?? (head.getAttribute("aria-sort") === first ? second : first);
  for (const cell of head.parentNode.cells) cell.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const key = (row) => {
    const cell = row.cells[column];
    if (!cell || row.classList.contains("unreadable")) return null;
    const text = cell.dataset.value ?? cell.textContent.trim();
    return numeric ? parseFloat(text.replace("−", "-").replace("< ", "")) : text;
  };
  const compare = (a, b) => (numeric ? (a || 0) - (b || 0) : a.localeCompare(b, "en", { numeric: true }));
  const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
  rows.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : sign * compare(a, b)));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

for (const input of document.querySelectorAll("input[data-searches]")) {
  const table = document.getElementById(input.dataset.searches);
  const none = document.querySelector(`[data-none="${input.dataset.searches}"]`);
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    let found = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      found += !row.hidden;
    }
    none.hidden = found > 0;
  };
  input.value = new URLSearchParams(location.search).get(input.name) ?? input.value;
  input.addEventListener("input", () => {
    search();
    remember(input.name, input.value);
  });
  search();
}

/* Filters apply when they are selected; empty ones are left out of the address. */
for (const form of document.querySelectorAll("form[data-submits]")) {
  const submit = () => {
    const address = new URL(location.pathname, location.href);
    for (const [name, value] of new FormData(form)) if (value) address.searchParams.set(name, value);
    location.assign(address);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  for (const select of form.querySelectorAll("select")) select.addEventListener("change", submit);
}

/* Selection of two runs for comparison. */
const compares = document.querySelector("[data-compares]");
if (compares) {
  const boxes = [...document.querySelectorAll('input[name="run"]')];
  const count = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    compares.disabled = chosen !== 2;
    for (const box of boxes) box.disabled = chosen === 2 && !box.checked;
  };
  for (const box of boxes) box.addEventListener("change", count);
  count();
}

/* The report's findings, computed after the page is shown. */
const finding = document.querySelector("[data-finding]");
if (finding) {
  const say = (text, kind) => {
    const line = document.createElement("p");
    line.textContent = text;
    line.className = kind;
    return line;
  };
  fetch(finding.dataset.finding)
    .then((answer) => answer.json())
    .then((result) => {
      if (result.problem) return finding.replaceChildren(say(result.problem, "about"));
      finding.replaceChildren(...result.findings.map((text) => say(text, "found")));
      finding.hidden = result.findings.length === 0;
    })
    .catch(() => (finding.hidden = true));
}

/* Keyboard shortcuts. */
const shortcuts = document.getElementById("shortcuts");
document.querySelector("[data-help]")?.addEventListener("click", () => shortcuts.showModal());
const go = (selector) => document.querySelector(selector)?.click();
const keys = {
  "?": () => (shortcuts.open ? shortcuts.close() : shortcuts.showModal()),
  "/": () => document.querySelector("[data-search]")?.focus(),
  j: () => go('[rel="next"]'),
  k: () => go('[rel="prev"]'),
  u: () => go("[data-up]"),
  e: () => go('[data-key="e"]'),
  g: () => go('[data-key="g"]'),
  r: () => go('[data-key="r"]'),
};
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=range]):not([type=checkbox]), select, textarea");
  if (typing && event.key === "Escape") typing.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
  if (shortcuts?.open && event.key !== "?") return;
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key](event);
});

/* Gallery images are requested when they come into view. */
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    entry.target.dataset.near = entry.isIntersecting ? "yes" : "";
    if (entry.isIntersecting && !entry.target.dataset.begun) {
      entry.target.dataset.begun = "yes";
      fetchStill(entry.target);
    }
  }
}, { rootMargin: "300px" });
for (const still of document.querySelectorAll("[data-still]")) seen.observe(still);

async function fetchStill(place) {
  const wait = place.querySelector(".wait");
  try {
    const answer = await fetch(place.dataset.still);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const now = await answer.json();
    if (now.state === "failed") throw new Error(now.message);
    if (now.state === "ready") {
      const picture = new Image();
      picture.alt = "Last frame of the episode";
      picture.src = `${place.dataset.still}.jpg`;
      place.replaceChildren(picture);
      return;
    }
    wait.textContent = now.state === "rendering" ? "rendering …" : "waiting …";
    if (place.dataset.near) setTimeout(() => fetchStill(place), 700);
    else place.dataset.begun = ""; // requested again when it comes back into view
  } catch (error) {
    wait.textContent = error.message;
  }
}

/* A running run: fetch its page every two seconds and exchange the parts that change. */
if (document.querySelector("[data-running]")) setTimeout(poll, 2000);

async function poll() {
  const lost = document.querySelector("[data-lost]");
  let running = true;
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    running = page.querySelector("[data-running]") !== null;
    for (const part of document.querySelectorAll("[data-live]")) {
      const next = page.querySelector(`[data-live="${part.dataset.live}"]`);
      next.querySelectorAll("table[data-sortable]").forEach(makeSortable);
      part.replaceWith(document.adoptNode(next));
    }
    lost.hidden = true;
  } catch (error) {
    lost.textContent = `No response from the server (${error.message}); retrying.`;
    lost.hidden = false;
  }
  if (running) setTimeout(poll, 2000);
}

/* An episode and its control: both videos, the timelines and the paths follow one clock that counts control steps (50 ms)
   or, on the tabletop, actions (1 s). */
const player = document.getElementById("player");
if (player) play(player);

function play(player) {
  const longest = Number(player.dataset.longest);
  const lasts = Number(player.dataset.lasts); // ms
  const seek = player.querySelector("[data-seek]");
  const button = player.querySelector("[data-play]");
  const speed = player.querySelector("[data-speed]");
  const output = player.querySelector("[data-step]");
  const clips = [...player.querySelectorAll("[data-video]")].map((figure) => ({
    steps: Number(figure.dataset.steps),
    video: figure.querySelector("video"),
    figure,
  }));
  const dots = [...document.querySelectorAll("[data-dot]")].map((dot) => {
    const line = dot.closest("svg").querySelector(`[data-path="${dot.dataset.dot}"]`);
    return { dot, points: line.points, stride: Number(line.dataset.stride) };
  });
  const marks = player.querySelectorAll(".strip .now");
  let step = Math.min(Number(new URLSearchParams(location.search).get("step")) || 0, longest);
  let playing = false;
  let before = 0;

  const ready = (clip) => !clip.video.hidden && clip.video.readyState > 0;
  // A video plays in real time, however many pictures it has; a little later, so that a step's own picture is shown.
  const time = (clip) => (Math.min(step, clip.steps) * lasts) / 1000 + 0.02;

  function draw() {
    const whole = Math.min(Math.floor(step), longest);
    seek.value = whole;
    output.textContent = `${player.dataset.unit} ${whole} of ${longest}`;
    for (const line of marks) {
      line.setAttribute("x1", whole);
      line.setAttribute("x2", whole);
    }
    for (const { dot, points, stride } of dots) {
      const point = points.getItem(Math.min(Math.floor(whole / stride), points.numberOfItems - 1));
      dot.setAttribute("cx", point.x);
      dot.setAttribute("cy", point.y);
    }
  }

  function align(tolerance) {
    for (const clip of clips) {
      if (ready(clip) && Math.abs(clip.video.currentTime - time(clip)) > tolerance) clip.video.currentTime = time(clip);
    }
  }

  function pause() {
    playing = false;
    button.textContent = "▶";
    button.setAttribute("aria-label", "Play");
    for (const clip of clips) clip.video.pause();
    align(0.01);
    keep();
  }

  let keeping = 0;
  function keep() {
    clearTimeout(keeping); // browsers refuse many addresses in a second
    keeping = setTimeout(() => remember("step", step >= 1 ? String(Math.floor(step)) : ""), 250);
  }

  function goTo(to) {
    if (playing) pause();
    step = Math.max(0, Math.min(to, longest));
    align(0.01);
    draw();
    keep();
  }

  function tick(now) {
    if (!playing) return;
    const rate = Number(speed.value);
    step += (Math.max(now - before, 0) / lasts) * rate; // a frame may have begun before the key was pressed
    before = now;
    for (const clip of clips) {
      clip.video.playbackRate = rate;
      const over = step >= clip.steps;
      if (ready(clip) && !over && clip.video.paused) clip.video.play().catch(() => {});
      if (over && !clip.video.paused) clip.video.pause();
    }
    align(0.12 * Math.max(rate, 1));
    if (step >= longest) {
      step = longest;
      pause();
    }
    draw();
    requestAnimationFrame(tick);
  }

  function toggle() {
    if (playing) return pause();
    if (step >= longest) step = 0;
    playing = true;
    button.textContent = "❚❚";
    button.setAttribute("aria-label", "Pause");
    before = performance.now();
    requestAnimationFrame(tick);
  }

  button.addEventListener("click", toggle);
  seek.addEventListener("input", () => goTo(Number(seek.value)));
  for (const link of document.querySelectorAll("[data-go]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      goTo(Number(link.dataset.go));
    });
  }
  const by = (event) => (event.shiftKey ? 10 : 1);
  keys[" "] = (event) => (event.target.closest("button, a, summary") ? event.target.click() : toggle());
  keys.ArrowRight = (event) => goTo(Math.floor(step) + by(event));
  keys.ArrowLeft = (event) => goTo(Math.floor(step) - by(event));
  keys.Home = () => goTo(0);
  keys.End = () => goTo(longest);

  async function fetchClip(clip) {
    const wait = clip.figure.querySelector(".wait");
    try {
      const answer = await fetch(clip.figure.dataset.video);
      if (!answer.ok) throw new Error(answer.status === 404 ? "there is no video" : `status ${answer.status}`);
      const now = await answer.json();
      if (now.state === "failed") throw new Error(now.message);
      if (now.state === "ready") return load(clip, now.message);
      wait.textContent = now.state === "rendering"
        ? `Replaying ${clip.steps} ${player.dataset.unit}s in the simulator … ${now.seconds} s`
        : "Queued …";
      setTimeout(() => fetchClip(clip), 300);
    } catch (error) {
      clip.figure.classList.add("failed");
      wait.textContent = `Cannot be shown: ${error.message}`;
    }
  }

  function load(clip, message) {
    const wait = clip.figure.querySelector(".wait");
    clip.video.addEventListener("error", () => {
      clip.figure.classList.add("failed");
      clip.video.hidden = true;
      wait.hidden = false;
      wait.textContent = "This browser cannot play the video (H.264).";
    });
    clip.video.addEventListener("loadeddata", () => {
      clip.video.hidden = false;
      wait.hidden = true;
      clip.video.currentTime = time(clip);
      if (playing && step < clip.steps) clip.video.play().catch(() => {});
    }, { once: true });
    clip.video.src = `${clip.figure.dataset.video}.mp4`;
    clip.figure.querySelector(".odd").textContent = message;
  }

  draw();
  for (const clip of clips) fetchClip(clip);
}
