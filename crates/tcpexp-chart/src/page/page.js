"use strict";
// Puts the page together, and again whenever the reader filters.

const page = JSON.parse(document.getElementById("data").textContent);
const places = Object.fromEntries(["summary", "filters", "shown", "charts", "tables"].map((id) => [id, document.getElementById(id)]));
const wanted = makeFilters(page, places.filters, draw);
const colour = makeColourChoice(page, places.filters, draw);
const runLines = makeTable(places.tables, runTable());
for (const table of page.tables) makeTable(places.tables, table);
places.summary.textContent = page.summary;

let charts = [];
draw();
window.addEventListener("resize", () => charts.forEach(({ frame, chart }) => chart.setSize({ width: frame.clientWidth, height: HEIGHT })));

function draw() {
  const runs = page.runs.filter((run) => isWanted(run, wanted));
  page.runs.forEach((run, index) => runLines[index].classList.toggle("filtered", !runs.includes(run)));
  const flows = runs.flatMap((run) => run.flows.map((flow) => ({ run, flow })));
  const styles = stylesOf(flows);
  const few = flows.slice(0, LINES_AT_MOST);
  const shown = [`${runs.length} of ${page.runs.length} runs`];
  if (few.length < flows.length) shown.push(`lines of the first ${few.length} of ${flows.length} flows: filter to see the others`);
  places.shown.textContent = page.runs.length > 1 || shown.length > 1 ? shown.join("; ") : "";
  charts.forEach(({ chart }) => chart.destroy());
  places.charts.replaceChildren();
  charts = page.panels.flatMap((panel) => linesOver(panel, few, styles)).concat(distributions(flows, few, styles));
}

function linesOver(panel, flows, styles) {
  const lines = flows.flatMap(({ run, flow }, index) => {
    const series = flow.series[panel.key];
    return series ? [{ label: labelOf(run, flow), ...styles[index], x: series.time_s, y: series.values }] : [];
  });
  if (lines.length === 0) return [];
  return [lineChart(places.charts, panel.title, { x: "time (s)", y: panel.axis }, lines, true)];
}

function distributions(flows, few, styles) {
  return page.distributions.flatMap(({ key, title, axis }) => {
    const all = flows.map(({ run, flow }, index) => ({ label: labelOf(run, flow), short: shortLabel(run, flow), ...styles[index], quantiles: flow.quantiles[key] }));
    const known = all.filter((one) => one.quantiles);
    if (known.length === 0) return [];
    const lines = all.slice(0, few.length).filter((one) => one.quantiles).map((one) => ({ ...one, ...stairs(one.quantiles) }));
    return [
      lineChart(places.charts, `${title}, distribution`, { x: axis, y: "share of samples" }, lines, false),
      boxChart(places.charts, `${title}: 5, 25, 50, 75 and 95 %`, axis, known),
    ];
  });
}

// The chart's x must rise, so of equal quantiles the highest share stays.
function stairs(quantiles) {
  const [x, y] = [[], []];
  quantiles.forEach((value, index) => {
    const share = index / (quantiles.length - 1);
    if (x.length > 0 && x[x.length - 1] === value) y[y.length - 1] = share;
    else { x.push(value); y.push(share); }
  });
  // Below the smallest value the distribution is 0: it rises there in one step.
  if (x.length > 0) { x.unshift(x[0] - Math.max(Math.abs(x[0]), 1) * 1e-9); y.unshift(0); }
  return { x, y };
}

function stylesOf(flows) {
  const names = [];
  const seen = new Map();
  return flows.map(({ run, flow }) => {
    const name = colour.value && colour.value !== EVERYTHING ? textOf(run.parameters[colour.value]) : `${run.name} ${flow.label}`;
    if (!names.includes(name)) names.push(name);
    const again = seen.get(name) ?? 0;
    seen.set(name, again + 1);
    const place = names.indexOf(name);
    return { colour: COLOURS[place % COLOURS.length], dash: DASHES[(again + Math.floor(place / COLOURS.length)) % DASHES.length] };
  });
}

function shortLabel(run, flow) {
  const varied = page.parameters.filter(({ name, values }) => values.length > 1 && name in run.parameters);
  const values = varied.map(({ name }) => textOf(run.parameters[name]));
  const repeated = page.runs.some((other) => other !== run && other.cell === run.cell && other.cell !== null);
  if (repeated) values.push(`#${run.repetition}`);
  if (run.flows.length > 1 || values.length === 0) values.push(flow.label);
  return values.join(" ");
}

function labelOf(run, flow) {
  return shortLabel(run, flow) || run.name;
}

function runTable() {
  const names = page.parameters.map(({ name }) => name);
  const known = page.distributions.map(({ key, title }) => ({ key, title }));
  const columns = [
    { name: "run" }, { name: "status" }, ...names.map((name) => ({ name })), { name: "flows" },
    ...known.map(({ title }) => ({ name: `${title}, median`, definition: "Of the flow with most samples." })), { name: "reason" },
  ];
  const rows = page.runs.map((run) => [
    run.name, run.status, ...names.map((name) => run.parameters[name] ?? null), run.flows.length,
    ...known.map(({ key }) => middle(run.flows.find((flow) => flow.quantiles[key])?.quantiles[key])), run.reason ?? "",
  ]);
  return { title: "Runs", columns, rows };
}

function middle(quantiles) {
  return quantiles ? quantiles[(quantiles.length - 1) / 2] : null;
}
