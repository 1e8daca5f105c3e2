/* ---- The heat map: a cell per node, in the order of the table. */

const map = { cell: 0, pitch: 0, across: 1, step: 0 };
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
function hatch(context, color) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.strokeStyle = color;
  pen.lineWidth = 1.4;
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}
function layOut(width, count) {
  const most = isSmall() ? 240 : 180;
  for (map.cell = 26; map.cell > 2; map.cell--) {
    map.pitch = map.cell + (map.cell > 8 ? 2 : 1);
    map.across = Math.max(1, Math.floor((width + map.pitch - map.cell) / map.pitch));
    /* They fill the width, when there are enough. */
    map.step = count > map.across ? (width + map.pitch - map.cell) / map.across : map.pitch;
    if (Math.ceil(count / map.across) * map.pitch <= most) return;
  }
}
/* Where a cell begins, or the one @by places on. */
const left = (index, by = 0) => Math.round(((index % map.across) + by) * map.step);
function drawMap() {
  const canvas = $("map"),
    context = canvas.getContext("2d"),
    width = canvas.clientWidth,
    ratio = devicePixelRatio || 1;
  layOut(width, state.shown.length);
  const height = Math.max(map.pitch, Math.ceil(state.shown.length / map.across) * map.pitch);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  context.scale(ratio, ratio);
  const steps = style("--steps").split(" "),
    over = style("--above"),
    ink = style("--ink"),
    sheet = style("--sheet"),
    none = hatch(context, style("--quiet"));
  state.shown.forEach((row, i) => {
    const share = load(row),
      x = left(i),
      wide = left(i, 1) - x - map.pitch + map.cell,
      y = Math.floor(i / map.across) * map.pitch;
    context.fillStyle = share === undefined ? none : share > 1 ? over : steps[Math.min(4, Math.floor(share * 5))];
    context.fillRect(x, y, wide, map.cell);
    /* The load line, for those who do not see the colour. */
    if (share > 1 && map.cell >= 8) {
      context.fillStyle = sheet;
      context.fillRect(x + Math.round(wide / 4), y + Math.round(map.cell / 2) - 1, wide - 2 * Math.round(wide / 4), 2);
    }
  });
  if (state.under !== undefined && state.under < state.shown.length) {
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.strokeRect(
      left(state.under) + 1,
      Math.floor(state.under / map.across) * map.pitch + 1,
      map.step - map.pitch + map.cell - 2,
      map.cell - 2,
    );
  }
}
function look(index) {
  if (index === state.under) return;
  const row = state.shown[index];
  state.under = row ? index : undefined;
  $("under").textContent = row
    ? `${row.name}: ${percent(load(row))}${limits() ? " of its limit" : ""}, ${reason(row)}`
    : HINT;
  $("under").title = $("under").textContent;
  drawMap();
}
function cellAt(event) {
  const box = $("map").getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / map.step),
    line = Math.floor((event.clientY - box.top) / map.pitch);
  return column >= 0 && column < map.across ? line * map.across + column : -1;
}
function drawLegend() {
  $("map-title").textContent = limits() ? "Load vs limit" : "Load";
  const swatch = (name) => {
    const item = make("i");
    item.style.background = name;
    return item;
  };
  const none = make("i");
  none.style.background = "repeating-linear-gradient(135deg, var(--quiet) 0 1px, transparent 1px 4px)";
  $("legend").replaceChildren(
    make(
      "span",
      "",
      "0",
      ...style("--steps").split(" ").map(swatch),
      make("i", "mark"),
      swatch("var(--above)"),
      limits() ? "above the limit" : "above capacity",
    ),
    make("span", "", none, "no data"),
  );
}
