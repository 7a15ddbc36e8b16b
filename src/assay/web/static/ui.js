"use strict";

const percent = (share, digits = 1) => (share === null ? "–" : `${(100 * share).toFixed(digits)} %`);

/* Tables that sort by a column; numbers by their data-value, texts as people sort. */
for (const table of document.querySelectorAll("table[data-sortable]")) {
  let column = 0;
  for (const head of table.tHead.rows[0].cells) {
    const place = column;
    column += head.colSpan;
    if (head.querySelector(".sr")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, head, place));
  }
}

function sort(table, head, column) {
  const numeric = head.classList.contains("number");
  const first = numeric ? "descending" : "ascending";
  const second = numeric ? "ascending" : "descending";
  const order = head.getAttribute("aria-sort") === first ? second : first;
  for (const each of head.parentNode.cells) each.removeAttribute("aria-sort");
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
  input.addEventListener("input", search);
  search();
}

/* A run that is running: its numbers, in place, every two seconds. */
const polled = document.querySelector("[data-poll]");
if (polled && "running" in polled.dataset) poll();

async function poll() {
  const lost = document.querySelector('[data-live="lost"]');
  let running = true;
  try {
    const answer = await fetch(polled.dataset.poll);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const now = await answer.json();
    lost.hidden = true;
    running = now.running;
    show(now);
  } catch (error) {
    lost.textContent = `No news from the server (${error.message}); trying again.`;
    lost.hidden = false;
  }
  if (running) setTimeout(poll, 2000);
}

function show(now) {
  const live = (name) => document.querySelector(`[data-live="${name}"]`);
  live("done").textContent = now.done;
  live("planned").textContent = now.planned;
  live("bar").max = Math.max(now.planned, 1);
  live("bar").value = now.done;
  live("running").hidden = !now.running;
  for (const [id, line] of Object.entries(now.lines)) {
    const place = polled.querySelector(`[data-line="${id}"]`);
    if (!place) {
      location.reload(); // the plan grew
      return;
    }
    const part = (name) => place.querySelector(`[data-part="${name}"]`);
    const text = (name, value) => part(name) && part(name).textContent !== value && (part(name).textContent = value);
    const judged = line.rate !== null;
    text("counts", judged ? `${line.successes}/${line.count}` : place.cells ? "–" : "");
    if (place.cells) {
      text("done", `${line.done}/${line.planned}`);
      part("done").dataset.value = line.done;
      part("rate").dataset.value = judged ? line.rate : -1;
      part("rate").firstElementChild.textContent = percent(line.rate);
      text("between", judged ? `${(100 * line.low).toFixed(0)} to ${(100 * line.high).toFixed(0)}` : "–");
      text("failures", String(line.count - line.successes));
      text("errors", String(line.errors));
      if (judged) {
        part("interval").setAttribute("x", 100 * line.low);
        part("interval").setAttribute("width", 100 * (line.high - line.low));
        part("point").setAttribute("x", Math.max(100 * line.rate - 0.8, 0));
      }
    } else if (judged) {
      text("whole", percent(line.rate, 0));
      place.className = `heat-${Math.round(10 * line.rate)}`;
    }
  }
}

/* An episode and its control: two films, the strips and the paths follow one clock: control steps of 50 ms, or actions
   on the table, a second each. */
const player = document.getElementById("player");
if (player) play(player);

function play(player) {
  const longest = Number(player.dataset.longest);
  const lasts = Number(player.dataset.lasts); // ms
  const seek = player.querySelector("[data-seek]");
  const button = player.querySelector("[data-play]");
  const speed = player.querySelector("[data-speed]");
  const output = player.querySelector("[data-step]");
  const films = [...player.querySelectorAll("[data-film]")].map((figure) => ({
    steps: Number(figure.dataset.steps),
    video: figure.querySelector("video"),
    stride: 1, // control steps between pictures; films have 20 pictures a second
    figure,
  }));
  const dots = [...document.querySelectorAll("[data-dot]")].map((dot) => {
    const line = dot.closest("svg").querySelector(`[data-path="${dot.dataset.dot}"]`);
    return { dot, points: line.points, stride: Number(line.dataset.stride) };
  });
  let step = 0;
  let playing = false;
  let before = 0;

  const ready = (film) => !film.video.hidden && film.video.readyState > 0;
  const time = (film) => (Math.ceil(Math.min(step, film.steps) / film.stride) + 0.5) / 20;

  function draw() {
    const whole = Math.min(Math.floor(step), longest);
    seek.value = whole;
    output.textContent = `${player.dataset.unit} ${whole} of ${longest}`;
    for (const line of player.querySelectorAll(".strip .now")) {
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
    for (const film of films) {
      if (ready(film) && Math.abs(film.video.currentTime - time(film)) > tolerance) film.video.currentTime = time(film);
    }
  }

  function pause() {
    playing = false;
    button.textContent = "▶";
    button.setAttribute("aria-label", "Play");
    for (const film of films) film.video.pause();
    align(0.01);
  }

  function tick(now) {
    if (!playing) return;
    const rate = Number(speed.value);
    step += ((now - before) / lasts) * rate;
    before = now;
    for (const film of films) {
      film.video.playbackRate = (rate / film.stride) * (50 / lasts);
      const over = step >= film.steps;
      if (ready(film) && !over && film.video.paused) film.video.play().catch(() => {});
      if (over && !film.video.paused) film.video.pause();
    }
    align(0.12 * Math.max(rate, 1));
    if (step >= longest) {
      step = longest;
      pause();
    }
    draw();
    requestAnimationFrame(tick);
  }

  button.addEventListener("click", () => {
    if (playing) return pause();
    if (step >= longest) step = 0;
    playing = true;
    button.textContent = "❚❚";
    button.setAttribute("aria-label", "Pause");
    before = performance.now();
    requestAnimationFrame(tick);
  });
  seek.addEventListener("input", () => {
    const to = Number(seek.value);
    if (playing) pause();
    step = to;
    align(0.01);
    draw();
  });

  async function fetchFilm(film) {
    const wait = film.figure.querySelector(".wait");
    try {
      const answer = await fetch(film.figure.dataset.film);
      if (!answer.ok) throw new Error(answer.status === 404 ? "there is no video" : `status ${answer.status}`);
      const now = await answer.json();
      if (now.state === "ready") {
        film.video.addEventListener("loadedmetadata", () => align(0.01), { once: true });
        film.video.addEventListener("error", () => {
          film.video.hidden = true;
          wait.hidden = false;
          wait.textContent = "This browser cannot play the video (H.264).";
        });
        film.stride = now.stride;
        film.video.src = `${film.figure.dataset.film}.mp4`;
        film.video.hidden = false;
        wait.hidden = true;
        film.figure.querySelector(".odd").textContent = now.said;
        return;
      }
      if (now.state === "failed") throw new Error(now.said);
      wait.textContent = now.state === "drawing"
        ? `Playing ${film.steps} ${player.dataset.unit}s again in the simulator … ${now.seconds} s`
        : "Waiting for its turn …";
      setTimeout(() => fetchFilm(film), 500);
    } catch (error) {
      film.figure.classList.add("failed");
      wait.textContent = `Cannot be shown: ${error.message}`;
    }
  }

  async function fetchFilms() {
    for (const film of films) await fetchFilm(film); // in this order they are drawn
  }

  draw();
  fetchFilms();
}

const report = document.querySelector("iframe.report");
if (report) {
  const measured = () => (document.querySelector("[data-measuring]").hidden = true);
  report.addEventListener("load", measured);
}
