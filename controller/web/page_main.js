/* What makes the page move. */

/* ---- The address keeps what was chosen. */

function remember() {
  const parts = new URLSearchParams();
  for (const [key, value] of [
    ["q", state.query],
    ["verdict", state.verdict],
    ["by", state.by],
    ["sort", state.sort === "load" ? "" : state.sort],
    ["rising", state.falling ? "" : "1"],
  ])
    if (value) parts.set(key, value);
  history.replaceState(null, "", parts.size ? `#${parts}` : location.pathname + location.search);
}
function recall() {
  const parts = new URLSearchParams(location.hash.slice(1));
  state.query = parts.get("q") || "";
  state.verdict = parts.get("verdict") || "";
  state.by = parts.get("by") || "";
  state.sort = parts.get("sort") || "load";
  state.falling = !parts.has("rising");
  $("filter").value = state.query;
}

/* ---- Fetching: every 15 s, and not while nobody looks. */

let timer = 0,
  isFetching = false;
async function poll() {
  clearTimeout(timer);
  if (isFetching) return;
  isFetching = true;
  try {
    const answer = await fetch("status.json", {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      cache: "no-store",
    });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    state.data = await answer.json();
    state.rows = state.data.nodes;
    $("trouble").hidden = true;
    $("when").textContent = `as of ${new Date(state.data.at).toLocaleTimeString()}`;
    draw();
  } catch (error) {
    $("trouble").textContent =
      `Cannot read status.json: ${error.message}.${state.data ? " The page shows older data." : ""}`;
    $("trouble").hidden = false;
  }
  isFetching = false;
  schedule();
}
function schedule() {
  clearTimeout(timer);
  if (!document.hidden && !state.paused) timer = setTimeout(poll, POLL_MS);
}

/* ---- Events. */

$("pause").addEventListener("click", () => {
  state.paused = !state.paused;
  $("pause").setAttribute("aria-pressed", state.paused);
  $("pause").textContent = state.paused ? "Resume" : "Pause";
  if (state.paused) clearTimeout(timer);
  else poll();
});
document.addEventListener("visibilitychange", () => (document.hidden || state.paused ? clearTimeout(timer) : poll()));
$("tiles").addEventListener("click", (event) => {
  const tile = event.target.closest("button");
  if (!tile) return;
  state.verdict = state.verdict === tile.dataset.verdict ? "" : tile.dataset.verdict;
  remember();
  drawTiles();
  drawNodes();
  $("tiles").querySelector(`[data-verdict="${state.verdict}"]`).focus();
});
$("filter").addEventListener("input", () => {
  state.query = $("filter").value;
  state.at = 0;
  remember();
  if (state.data) drawNodes();
});
$("by").addEventListener("change", () => {
  state.by = $("by").value;
  remember();
  drawNodes();
});
$("table").tHead.addEventListener("click", (event) => {
  const key = event.target.closest("button")?.dataset.key;
  if (!key) return;
  const column = state.columns.find((one) => one.key === key);
  state.falling = key === state.sort ? !state.falling : Boolean(column.falls);
  state.sort = key;
  remember();
  drawNodes();
  [...$("table").tHead.querySelectorAll("button")].find((button) => button.dataset.key === key)?.focus();
});
const body = $("table").tBodies[0];
body.addEventListener("click", (event) => {
  const line = event.target.closest("tr.row");
  if (line) open(Number(line.dataset.index));
});
body.addEventListener("keydown", (event) => {
  const page = Math.max(1, Math.floor(innerHeight / rowHeight()) - 3);
  const step = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -Infinity,
    End: Infinity,
  }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  goTo(state.at + step, true);
});
$("map").addEventListener("pointermove", (event) => look(cellAt(event)));
$("map").addEventListener("pointerleave", () => look(-1));
$("map").addEventListener("click", (event) => open(cellAt(event)));
$("map").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: map.across, ArrowUp: -map.across }[event.key];
  if (event.key === "Enter") open(state.under ?? 0);
  if (step === undefined) return;
  event.preventDefault();
  look(Math.max(0, Math.min(state.shown.length - 1, (state.under ?? -1) + step)));
});
$("close").addEventListener("click", () => $("detail").close());
$("detail").addEventListener("close", () => {
  state.open = null;
});
$("detail").addEventListener("click", (event) => event.target === $("detail") && $("detail").close());
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, select") || $("detail").open) return;
  event.preventDefault();
  $("filter").focus();
});
addEventListener("scroll", () => state.data && drawRows(), { passive: true });
addEventListener("resize", () => state.data && drawNodes());
addEventListener("hashchange", () => {
  if (!location.hash.includes("=")) return; /* a place on the page */
  recall();
  if (state.data) draw();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => state.data && draw());
$("under").textContent = HINT;
recall();
poll();
