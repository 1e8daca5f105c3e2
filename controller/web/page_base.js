/* The page's script is page_*.js in this order: base, table, map, parts, main. embed.py puts them into one
   function. This file: the state, texts, the load of a node, filter and order. */

const POLL_MS = 15000,
  TIMEOUT_MS = 10000,
  OVERSCAN = 8;
const VERDICTS = [
  ["", "nodes"],
  ["passes", "pass"],
  ["rejected", "rejected"],
  ["closed", "take no pods"],
  ["unknown", "no data"],
];
const NONE = "–";
const HINT = "A cell is a node, in the order of the table.";
const $ = (id) => document.getElementById(id);
const state = {
  data: null,
  rows: [],
  shown: [],
  verdict: "",
  sort: "load",
  falling: true,
  by: "",
  query: "",
  at: 0,
  open: null,
  columns: [],
  first: -1,
  paused: false,
};

/* ---- Text and elements. What comes from the cluster is only ever set as text. */

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}
const percent = (ratio, digits = 0) =>
  ratio === undefined || ratio === null ? NONE : `${(100 * ratio).toFixed(digits)}%`;
const cores = (value) => value.toLocaleString("en", { maximumFractionDigits: 2 });
/* As the scheduler is answered, and `top` shows it. */
const amount = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
function age(seconds) {
  if (seconds === undefined) return NONE;
  /* Number and unit on one line. */
  if (seconds < 100) return `${Math.round(seconds)}\u00a0s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)}\u00a0min` : `${Math.round(seconds / 3600)}\u00a0h`;
}
const spoken = (name) =>
  name
    .replace("max_avg_", "max_")
    .replace("_usage_", " ")
    .replace(/_(\d+[a-z]+)$/, " $1");
/* "cpu_usage_max_avg_1h" -> "max 1h" under its resource, "cpu max 1h" elsewhere. */
function title(metric, isUnder) {
  if (!metric.resource) return metric.name;
  const rest = spoken(metric.name.slice(metric.resource.length + "_usage_".length));
  return isUnder ? rest : `${metric.resource} ${rest}`;
}
function reason(row) {
  if (row.verdict === "unknown") return `no data: ${row.reason}`;
  if (row.verdict === "closed") return row.reason;
  if (!row.reason) return "passes";
  const above = `above: ${spoken(row.reason.replace(/ above .*/, ""))}`;
  if (state.data.isAllOver) return `passes, since all are ${above}`;
  return row.verdict === "passes" ? `last; ${above}` : above;
}

/* ---- The load of a node: the largest usage as a share of its limit, or one metric's. */

const isSmall = () => innerWidth <= 720;
/* Nodes in a pool have limits of their own. */
const limitOf = (row, index) => (row.limits ? row.limits[index] : state.data.policy.metrics[index].limit);
const hasLimit = (row) => state.data.policy.metrics.some((_, index) => limitOf(row, index));
const isLimited = (metric, index) => metric.limit || state.data.policy.pools.some((pool) => pool.limits[index]);
const limits = () => state.data.policy.metrics.some(isLimited);
function load(row) {
  const metrics = state.data.policy.metrics;
  const chosen = metrics.findIndex((metric) => metric.name === state.by);
  if (chosen >= 0) {
    const usage = row.usage[chosen];
    return usage === null ? undefined : usage / (limitOf(row, chosen) || 1);
  }
  if (hasLimit(row)) return row.limitShare;
  const known = row.usage.filter((usage) => usage !== null);
  return known.length ? Math.max(...known) : undefined;
}

/* ---- Filter and order. */

function matches(row, terms) {
  return terms.every((term) => {
    const at = term.indexOf("=");
    const labels = Object.entries(row.labels || {});
    if (at > 0) {
      const key = term.slice(0, at),
        value = term.slice(at + 1);
      return labels.some(
        ([k, v]) =>
          (k.toLowerCase() === key || k.toLowerCase().endsWith(`/${key}`)) && v.toLowerCase().startsWith(value),
      );
    }
    return (
      row.name.toLowerCase().includes(term) ||
      labels.some(([k, v]) => k.toLowerCase().includes(term) || v.toLowerCase().includes(term))
    );
  });
}
function compare(column) {
  const sign = state.falling ? -1 : 1;
  return (a, b) => {
    const x = column.value(a),
      y = column.value(b);
    const isBlank = (v) => v === undefined || v === null;
    /* What is not known stands at the end in either order. */
    if (isBlank(x) || isBlank(y)) return isBlank(x) - isBlank(y) || (a.name < b.name ? -1 : 1);
    if (x < y) return -sign;
    return x > y ? sign : a.name < b.name ? -1 : 1;
  };
}
function choose() {
  const terms = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const column = columns().find((one) => one.key === state.sort) || columns()[0];
  state.shown = state.rows
    .filter((row) => (!state.verdict || row.verdict === state.verdict) && matches(row, terms))
    .sort(compare(column));
  if (state.at >= state.shown.length) state.at = 0;
  const total = state.data.nodeCount,
    sent = state.data.nodesShown;
  $("count").textContent =
    `${state.shown.length.toLocaleString("en")} of ${amount(total, "node", "nodes")}${sent < total ? `; the ${sent.toLocaleString("en")} nearest to a limit are here` : ""}`;
  $("none").hidden = state.shown.length > 0;
}
