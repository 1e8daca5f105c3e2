/* The table of nodes. */

/* ---- Columns: which there are, and which fit. */

function gauge(share, limitAt, isOver) {
  const bar = make("i"),
    line = make("b"),
    box = make("span", isOver ? "gauge over" : "gauge", bar);
  bar.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
  if (limitAt) {
    line.style.left = `${100 * Math.min(1, limitAt)}%`;
    box.append(line);
  }
  return box;
}
/* The limit is at four fifths of the width, of every node. */
const LIMIT_AT = 0.8;
function loadCell(cell, row) {
  const share = load(row),
    box = gauge(share === undefined ? 0 : share * LIMIT_AT, LIMIT_AT, share > 1);
  box.prepend(make("u"));
  if (share === undefined) box.classList.add("none");
  cell.append(make("div", "", box, make("span", share > 1 ? "number over" : "number", percent(share))));
}
function metricCell(cell, row, metric, index) {
  const usage = row.usage[index],
    limit = limitOf(row, index),
    isOver = limit && usage > limit;
  if (isOver) cell.classList.add("over");
  if (usage === null) {
    cell.classList.add("dim");
    cell.title = (row.missing || {})[metric.name] || "";
  }
  cell.append(percent(usage));
  if (usage !== null && limit) cell.append(gauge(usage, limit, isOver));
}
function spark(values, limit, label) {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg"),
    line = document.createElementNS(ns, "path");
  const top = Math.max(100, ...values.map((value) => value || 0));
  const y = (value) => (20 - (19 * value) / top - 0.5).toFixed(1);
  let path = "",
    isDown = false;
  values.forEach((value, i) => {
    if (value !== null) path += `${isDown ? "L" : "M"}${((100 * i) / (values.length - 1 || 1)).toFixed(1)} ${y(value)}`;
    isDown = value !== null;
  });
  if (values.length === 1) path += "H100";
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", "0 0 100 20");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  if (limit) {
    const mark = document.createElementNS(ns, "path");
    mark.setAttribute("class", "limit");
    mark.setAttribute("d", `M0 ${y(100 * limit)}H100`);
    svg.append(mark);
  }
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}
/* A controller that has just started does not know an hour: how many of the last steps, and their name. */
function reach(histories) {
  const known = histories.map((values) => values.length - values.findIndex((value) => value !== null));
  const steps = Math.max(0, ...known.filter((count, i) => count <= histories[i].length));
  const isWhole = histories.some((values) => values.length === steps);
  return { steps, name: isWhole ? "last hour" : `last ${age(steps * state.data.historyStepSeconds)}` };
}
const latest = (values) => values.filter((value) => value !== null).pop();
/* The lowest of a resource's metrics; 0: none. */
function lowestLimit(row, resource) {
  const found = state.data.policy.metrics
    .map((metric, index) => metric.resource === resource && limitOf(row, index))
    .filter(Boolean);
  return found.length ? Math.min(...found) : 0;
}

/* Every column: key, title, width in px, value to sort by, and what is in a cell. */
function columns() {
  const { policy, historyResources } = state.data;
  const list = [
    {
      key: "name",
      title: "Node",
      width: 200,
      need: 0,
      value: (row) => row.name,
      fill: nameCell,
      className: "name",
    },
    {
      key: "load",
      title: isSmall() ? "Load" : limits() ? "Load vs limit" : "Load",
      width: 150,
      need: 0,
      value: load,
      fill: loadCell,
      className: "load",
      falls: true,
    },
    {
      key: "verdict",
      title: "Verdict",
      width: 156,
      need: isSmall() ? 9 : 0,
      value: reason,
      className: "verdict",
      fill: (cell, row) => {
        cell.append(reason(row));
        cell.title = row.reason || "";
        cell.classList.add(row.verdict === "rejected" ? "over" : "dim");
      },
    },
  ];
  const known = reach(state.rows.flatMap((row) => row.history));
  const groups = [...new Set(policy.metrics.map((metric) => metric.resource || metric.name))];
  groups.forEach((group, place) => {
    policy.metrics.forEach((metric, index) => {
      if ((metric.resource || metric.name) !== group) return;
      list.push({
        key: metric.name,
        title: title(metric, true),
        group,
        width: 70,
        /* What decides first; the rest of a resource comes together. */
        need: metric.weight || isLimited(metric, index) ? 1 + place / 100 : 2 + place,
        value: (row) => row.usage[index],
        className: "metric number",
        fill: (cell, row) => metricCell(cell, row, metric, index),
        falls: true,
      });
    });
    const at = historyResources.indexOf(group);
    if (at >= 0 && known.steps > 0)
      list.push({
        key: `${group} history`,
        title: known.name,
        group,
        width: 92,
        need: 2 + place,
        value: (row) => latest(row.history[at]),
        fill: (cell, row) =>
          row.history[at].length > 0 &&
          cell.append(spark(row.history[at].slice(-known.steps), lowestLimit(row, group), `${group}, ${known.name}`)),
        falls: true,
      });
  });
  if (policy.hasHotValue)
    list.push({
      key: "hot",
      title: "Recent",
      width: 66,
      need: 1.6,
      value: (row) => row.hot,
      className: "number",
      fill: (cell, row) => cell.append(row.hot ?? NONE),
      falls: true,
    });
  list.push({
    key: "ageSeconds",
    title: "Age",
    width: 60,
    need: 1.5,
    value: (row) => row.ageSeconds,
    className: "number",
    fill: (cell, row) => cell.append(age(row.ageSeconds)),
    falls: true,
  });
  /* Where there is one source, every row would say the same. */
  if (state.data.sources.filter((source) => source.isUsed).length > 1)
    list.push({
      key: "source",
      title: "Source",
      width: 112,
      need: 1.8,
      value: (row) => row.source,
      fill: (cell, row) => {
        cell.append(row.source || NONE);
        cell.classList.add("dim");
      },
    });
  return list;
}
function fitting() {
  const all = columns();
  let left = $("table").clientWidth;
  all.forEach((column) => {
    column.px = isSmall() && column.key === "name" ? 160 : column.width;
  });
  /* A resource's columns come together or not at all, and in the policy's order. */
  let isFull = false;
  for (const need of [...new Set(all.map((column) => column.need))].sort((a, b) => a - b)) {
    const these = all.filter((column) => column.need === need);
    const px = these.reduce((sum, column) => sum + column.px, 0);
    const fits = need === 0 || (px <= left && !(isFull && these[0].group));
    these.forEach((column) => {
      column.isShown = fits;
    });
    if (fits) left -= px;
    else isFull = true;
  }
  const order = ["name", "load"];
  const place = (column) =>
    order.includes(column.key) ? order.indexOf(column.key) : column.key === "verdict" ? 1000 : 10 + all.indexOf(column);
  const shown = all.filter((column) => column.isShown).sort((a, b) => place(a) - place(b));
  shown[0].px += Math.min(160, Math.max(0, left) * 0.6);
  return shown;
}

/* ---- The table: only the rows in sight are there. */

function nameCell(cell, row) {
  const button = make("button", "", row.name);
  button.type = "button";
  button.title = row.name;
  button.tabIndex = -1;
  cell.append(button);
  if (isSmall()) cell.append(make("small", row.verdict === "rejected" ? "over" : "dim", reason(row)));
}
function drawHead() {
  state.columns = fitting();
  const head = $("table").tHead,
    cols = $("table").querySelector("colgroup");
  cols.replaceChildren(
    ...state.columns.map((column, i) => {
      const col = make("col");
      /* The load's column takes what is left. */
      if (column.key !== "load") col.style.width = `${column.px}px`;
      return col;
    }),
  );
  const titles = make("tr"),
    groups = make("tr");
  for (let i = 0; i < state.columns.length; i++) {
    const column = state.columns[i],
      cell = make("th", column.className?.includes("number") ? "number" : ""),
      button = make("button", "", column.title);
    cell.scope = "col";
    button.type = "button";
    button.title = column.title;
    button.dataset.key = column.key;
    if (column.key === state.sort) {
      cell.setAttribute("aria-sort", state.falling ? "descending" : "ascending");
      button.append(state.falling ? " ↓" : " ↑");
    }
    cell.append(button);
    titles.append(cell);
    if (i > 0 && column.group && column.group === state.columns[i - 1].group) {
      groups.lastChild.colSpan++;
    } else {
      const group = make("th", column.group ? "group" : "", column.group ? make("span", "", column.group) : "");
      groups.append(group);
    }
  }
  head.replaceChildren(...(state.columns.some((column) => column.group) ? [groups, titles] : [titles]));
  state.first = -1;
}
function drawRow(index, columnList) {
  const row = state.shown[index],
    line = make("tr", "row");
  line.dataset.index = index;
  line.setAttribute("aria-rowindex", index + 2);
  for (const column of columnList) {
    const cell = make("td", column.className || "");
    column.fill(cell, row);
    line.append(cell);
  }
  if (index === state.at) line.querySelector("button").tabIndex = 0;
  return line;
}
function space(rows, height, span) {
  const cell = make("td"),
    line = make("tr", "space", cell);
  cell.colSpan = span;
  line.style.height = `${rows * height}px`;
  line.setAttribute("aria-hidden", "true");
  return rows > 0 ? [line] : [];
}
const rowHeight = () => parseFloat(style("--row"));
function drawRows() {
  const table = $("table"),
    body = table.tBodies[0],
    height = rowHeight(),
    count = state.shown.length;
  const above = -body.getBoundingClientRect().top;
  const first = Math.max(0, Math.min(count, Math.floor(above / height)) - OVERSCAN);
  const last = Math.min(count, first + Math.ceil(innerHeight / height) + 2 * OVERSCAN);
  if (first === state.first) return;
  const focused = document.activeElement?.closest?.("tr.row")?.dataset.index;
  state.first = first;
  table.setAttribute("aria-rowcount", count + 1);
  const lines = [];
  for (let i = first; i < last; i++) lines.push(drawRow(i, state.columns));
  body.replaceChildren(
    ...space(first, height, state.columns.length),
    ...lines,
    ...space(count - last, height, state.columns.length),
  );
  if (focused !== undefined) body.querySelector(`tr[data-index="${state.at}"] button`)?.focus({ preventScroll: true });
}
function goTo(index, hasFocus) {
  const height = rowHeight(),
    body = $("table").tBodies[0];
  state.at = Math.max(0, Math.min(state.shown.length - 1, index));
  const y = body.getBoundingClientRect().top + state.at * height,
    head = $("table").tHead.offsetHeight;
  if (y < head) scrollBy(0, y - head);
  else if (y + height > innerHeight) scrollBy(0, y + height - innerHeight);
  state.first = -1;
  drawRows();
  if (hasFocus) body.querySelector(`tr[data-index="${state.at}"] button`)?.focus({ preventScroll: true });
}
