/* What stands around map and table. */

/* ---- One node in full. */

function table(titles, rows) {
  const head = make("tr"),
    body = make("tbody");
  titles.forEach(([text, className]) => head.append(make("th", className, text)));
  rows.forEach((cells) => body.append(make("tr", "", ...cells.map((cell, i) => make("td", titles[i][1], cell)))));
  return make("table", "", make("thead", "", head), body);
}
/* Why a node offers less than it could. */
function idleWhy({ offeredCores, roomCores, takenCores }) {
  if (roomCores === undefined) return " (no reading)";
  if (roomCores <= 0) return " (services leave nothing below the line)";
  if (takenCores > roomCores) return " (batch pods have taken more than services leave)";
  return offeredCores < roomCores ? ` (rising to ${cores(roomCores)})` : "";
}
function idleText(idle) {
  const used = idle.usedCores === undefined ? "" : `, ${cores(idle.usedCores)} used`;
  return `idle CPU: ${cores(idle.offeredCores)} offered${idleWhy(idle)}, ${cores(idle.takenCores)} taken${used}`;
}
function showDetail() {
  const row = state.rows.find((one) => one.name === state.open);
  if (!row) return;
  const { policy, historyResources } = state.data,
    body = [];
  $("detail-title").textContent = row.name;
  const facts = [
    make("b", row.verdict === "rejected" ? "over" : "", row.verdict === "rejected" ? row.reason : reason(row)),
  ];
  if (row.hot !== undefined) facts.push(`recent bindings ${row.hot}`);
  if (row.pool) facts.push(`pool ${row.pool}`);
  if (row.taintLevel !== undefined) facts.push(`taint level ${row.taintLevel}`);
  if (row.pods) facts.push(`${row.pods.measured} of ${row.pods.bound} pods measured`);
  if (row.idle) facts.push(idleText(row.idle));
  if (row.ageSeconds !== undefined) facts.push(`last reading ${age(row.ageSeconds)} ago`);
  if (row.source) facts.push(`from ${row.source}`);
  if (row.failure) facts.push(`last attempt: ${row.failure}`);
  body.push(make("p", "", ...facts.flatMap((fact, i) => (i > 0 ? [" · ", fact] : [fact]))));
  body.push(
    table(
      [["Metric"], ["Usage", "number"], ["Limit", "number"], [""]],
      policy.metrics.map((metric, i) => {
        const usage = row.usage[i],
          limit = limitOf(row, i);
        return [
          title(metric),
          percent(usage, 1),
          limit ? percent(limit) : NONE,
          usage === null ? (row.missing || {})[metric.name] || "" : gauge(usage, limit, limit && usage > limit),
        ];
      }),
    ),
  );
  historyResources.forEach((resource, i) => {
    const { steps, name } = reach([row.history[i]]);
    if (steps === 0) return;
    body.push(
      make("h3", "", `${resource}, ${name}, 0 to 100%`),
      spark(row.history[i].slice(-steps), lowestLimit(row, resource), `${resource}, ${name}`),
    );
  });
  const labels = Object.entries(row.labels || {});
  if (labels.length)
    body.push(
      make("h3", "", "Labels"),
      make("div", "labels", ...labels.map(([key, value]) => make("code", "", `${key}=${value}`))),
    );
  $("detail-body").replaceChildren(...body);
}
function open(index) {
  if (!state.shown[index]) return;
  state.open = state.shown[index].name;
  state.at = index;
  showDetail();
  if (!$("detail").open) $("detail").showModal();
}

/* ---- The rest of the page. */

function drawTiles() {
  const counts = state.data.verdicts;
  $("tiles").replaceChildren(
    ...VERDICTS.filter(([verdict]) => verdict !== "closed" || counts.closed > 0).map(([verdict, text]) => {
      const count = verdict ? counts[verdict] : state.data.nodeCount;
      const tile = make(
        "button",
        verdict === "rejected" && count > 0 ? "above" : "",
        make("b", "", count.toLocaleString("en")),
        make("span", "", text),
      );
      tile.type = "button";
      tile.dataset.verdict = verdict;
      tile.setAttribute("aria-pressed", state.verdict === verdict);
      return tile;
    }),
  );
}
function drawNotices() {
  const { failures, policy, ready } = state.data,
    list = [];
  const targets = failures.reduce((sum, group) => sum + group.nodes, 0);
  const link = (target, text) => {
    const anchor = make("a", "", text);
    anchor.href = target;
    return anchor;
  };
  if (!ready) list.push(link("#checks", "A check fails: the controller is not ready"));
  if (targets)
    list.push(
      link(
        "#failures-title",
        `${amount(targets, "target fails", "targets fail")}: ${[...new Set(failures.map((group) => group.reason))].join(", ")}`,
      ),
    );
  if (policy.warningCount)
    list.push(link("#policy", amount(policy.warningCount, "warning about the policy", "warnings about the policy")));
  $("notices").replaceChildren(...list);
  $("notices").hidden = list.length === 0;
}
function drawPolicy() {
  const { policy } = state.data,
    body = [];
  const isOpen = $("policy-body").querySelector("details")?.open;
  const over =
    policy.whenAllOver === "pass"
      ? "when every candidate is above a limit, all pass"
      : "a node above a limit is rejected (overLimit: last: ranked last)";
  body.push(make("p", "quiet", `${policy.name ? `${policy.name}; ` : ""}scoring: ${policy.scoring}; ${over}`));
  body.push(
    table(
      [["Metric"], ["Limit", "number"], ["Weight", "number"], ["Period", "number"]],
      policy.metrics.map((metric) => [
        title(metric),
        metric.limit ? percent(metric.limit) : NONE,
        metric.weight || NONE,
        metric.periodSeconds ? age(metric.periodSeconds) : NONE,
      ]),
    ),
  );
  if (policy.pools.length)
    body.push(
      table(
        [["Pool"], ["Nodes with"], ["Limits"]],
        policy.pools.map((pool, i) => [
          i + 1,
          Object.entries(pool.nodeSelector)
            .map(([key, value]) => `${key}=${value}`)
            .join(", "),
          policy.metrics
            .map((metric, k) => pool.limits[k] && `${title(metric)} ${percent(pool.limits[k])}`)
            .filter(Boolean)
            .join(", ") || NONE,
        ]),
      ),
    );
  if (policy.warnings.length) body.push(make("ul", "", ...policy.warnings.map((text) => make("li", "warning", text))));
  const more = make("details", "", make("summary", "", "The whole policy"), make("pre", "", policy.text));
  more.open = Boolean(isOpen);
  body.push(more);
  $("policy-body").replaceChildren(...body);
}
function drawSources() {
  const { sources, failures, checks } = state.data;
  $("sources-body").replaceChildren(
    table(
      [["Source"], ["Serves", "number"], ["Fails", "number"], ["Every", "number"]],
      sources.map((source) => [
        source.isUsed ? source.name : `${source.name} (not needed)`,
        source.nodesServed,
        source.nodesFailing,
        age(source.intervalSeconds),
      ]),
    ),
  );
  const failure = (group) =>
    make(
      "li",
      "warning",
      make("b", "", `${group.source}: ${group.reason}`),
      ` on ${amount(group.nodes, "node", "nodes")}; look at `,
      /* A flag stays in one piece. */
      ...group.see.split(/(--[a-z-]+)/).map((text) => (text.startsWith("--") ? make("code", "", text) : text)),
      make("p", "quiet", group.examples.join(", ") + (group.nodes > group.examples.length ? ", …" : "")),
    );
  $("failures-body").replaceChildren(
    failures.length ? make("ul", "", ...failures.map(failure)) : make("p", "quiet", "None."),
  );
  $("checks").replaceChildren(...checks.map((line) => make("li", line.startsWith("[-]") ? "bad" : "", line.slice(4))));
}
function drawBy() {
  const options = [
    ["", limits() ? "the nearest limit" : "the fullest resource"],
    ...state.data.policy.metrics.map((metric) => [metric.name, title(metric)]),
  ];
  $("by").replaceChildren(
    ...options.map(([value, text]) => {
      const option = make("option", "", text);
      option.value = value;
      return option;
    }),
  );
  $("by").value = options.some(([value]) => value === state.by) ? state.by : "";
  state.by = $("by").value;
}
function drawNodes() {
  choose();
  drawHead();
  drawRows();
  drawMap();
}
function draw() {
  const { data } = state;
  $("program").replaceChildren(
    `${data.version} `,
    make("span", "chip", data.role),
    make("span", data.ready ? "chip" : "chip over", data.ready ? "ready" : "not ready"),
  );
  drawBy();
  drawTiles();
  drawNotices();
  drawLegend();
  drawNodes();
  drawPolicy();
  drawSources();
  if ($("detail").open) showDetail();
}
