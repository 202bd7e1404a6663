"use strict";
// Puts the page together, and again whenever the reader filters.

const page = JSON.parse(document.getElementById("data").textContent);
const places = Object.fromEntries(["summary", "filters", "shown", "charts", "tables"].map((id) => [id, document.getElementById(id)]));
const wanted = makeFilters(page, places.filters, draw);
const colour = makeColourChoice(page, places.filters, draw);
const tables = [runTable(), ...page.tables].map((table) => makeTable(places.tables, table));
places.summary.textContent = page.summary;

let charts = [];
// The grid changes the widths of charts with the window, and with the number of charts.
const widths = new ResizeObserver(setWidths);
// Width of a printed chart, in pixels: that of the text on A4 paper with the margins of browsers. The style
// sheet scales the chart to other paper.
const PRINTED = 700;
let isPrinting = false;
// No frame changes its size before the page is printed.
window.addEventListener("beforeprint", () => print(true));
window.addEventListener("afterprint", () => print(false));
draw();
darkness.addEventListener("change", draw);

function draw() {
  const runs = page.runs.filter((run) => isWanted(run, wanted));
  const indexes = new Set(runs.map((run) => page.runs.indexOf(run)));
  for (const showRows of tables) showRows(indexes);
  const flows = runs.flatMap((run) => run.flows.map((flow) => ({ run, flow })));
  const styles = stylesOf(flows);
  const few = flows.slice(0, MAX_LINES);
  places.shown.textContent = shownText(runs, flows, few);
  const specs = page.panels.flatMap((panel) => linesOver(panel, few, styles)).concat(distributions(flows, few, styles));
  charts.forEach(({ chart }) => chart.destroy());
  widths.disconnect();
  // All frames are in the grid before the first chart asks for its width.
  const frames = specs.map(({ title }) => element("div", { className: "chart" }, element("h3", {}, title)));
  places.charts.replaceChildren(...frames);
  charts = specs.map(({ drawIn }, index) => ({ frame: frames[index], chart: drawIn(frames[index]) }));
  setWidths();
  for (const frame of frames) widths.observe(frame);
}

function print(isStart) {
  isPrinting = isStart;
  setWidths();
}

function setWidths() {
  for (const { frame, chart } of charts) {
    const width = isPrinting ? PRINTED : frame.clientWidth;
    if (chart.width !== width) chart.setSize({ width, height: HEIGHT });
  }
}

// What is shown of what: runs, flows, lines.
function shownText(runs, flows, few) {
  const all = runs.reduce((sum, run) => sum + run.all_flows, 0);
  const used = runs.filter(({ status }) => status === "complete" || status === "dataset").length;
  const unused = used < runs.length ? `, ${runs.length - used} without results left out` : "";
  const parts = page.runs.length > 1 ? [`${used} of ${page.runs.length} runs${unused}`] : [];
  const rule = page.flow_rule === "" ? "" : ` (${page.flow_rule})`;
  parts.push(`${flows.length} of ${all} flows${rule}`);
  const most = runs.map((run) => (run.flows.length < run.chosen_flows ? run.flows.length : 0)).reduce((one, other) => Math.max(one, other), 0);
  if (most > 0) parts.push(`only the first ${most} flows of each run are on this page`);
  if (few.length < flows.length) parts.push(`lines of the first ${few.length} flows: filter to see the others`);
  return parts.join("; ");
}

function linesOver(panel, flows, styles) {
  const lines = flows.flatMap(({ run, flow }, index) => {
    const series = flow.series[panel.key];
    return series ? [{ label: labelOf(run, flow), ...styles[index], x: series.time_s, y: series.values }] : [];
  });
  const ended = panel.is_rate ? lines : withGaps(lines);
  return lines.length === 0 ? [] : [lineChart(panel.title, { x: "time (s)", y: panel.axis }, ended, true)];
}

function distributions(flows, few, styles) {
  return page.distributions.flatMap(({ key, title, axis }) => {
    const all = flows.map(({ run, flow }, index) => ({ label: labelOf(run, flow), short: shortLabel(run, flow), ...styles[index], quantiles: flow.quantiles[key] }));
    const known = all.filter((one) => one.quantiles);
    if (known.length === 0) return [];
    const lines = all.slice(0, few.length).filter((one) => one.quantiles).map((one) => ({ ...one, ...stairs(one.quantiles) }));
    return [
      lineChart(`${title}, distribution`, { x: axis, y: "share of samples" }, lines, false),
      boxChart(`${title}: 5, 25, 50, 75 and 95 %`, axis, known),
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
    const colours = palette();
    return { colour: colours[place % colours.length], dash: DASHES[(again + Math.floor(place / colours.length)) % DASHES.length] };
  });
}

function shortLabel(run, flow) {
  const varied = page.parameters.filter(({ name, is_distinguishing }) => is_distinguishing && name in run.parameters);
  const values = varied.map((parameter) => namedValue(parameter, run.parameters[parameter.name]));
  const repeated = page.runs.some((other) => other !== run && other.cell === run.cell && other.cell !== null);
  if (repeated) values.push(`#${run.repetition}`);
  if (run.flows.length > 1 || values.length === 0) values.push(flow.label);
  return values.join(", ");
}

// The value with the quantity and the unit, as in the names of SVG charts; text stays as it is.
function namedValue({ quantity, unit }, value) {
  if (value === null) return `no ${quantity}`;
  return typeof value === "number" ? [quantity, value, unit].join(" ").trim() : textOf(value);
}

function labelOf(run, flow) {
  return shortLabel(run, flow) || run.name;
}

function runTable() {
  const hasReasons = page.runs.some((run) => run.reason);
  const names = page.parameters.map(({ name }) => name);
  const column = (heading, definition = "", is_main = true) => ({ heading, definition, is_main });
  // A parameter that follows from the others is one of the columns that a reader can ask for.
  const isMain = ({ values, is_distinguishing }) => is_distinguishing || values.length < 2;
  const columns = [
    column("run"), column("status"), ...page.parameters.map((parameter) => column(parameter.heading, "", isMain(parameter))),
    column("flows", "Flows on this page."), column("all flows", "Flows in the dataset."),
    ...(hasReasons ? [column("reason", "Why the run does not count.")] : []),
  ];
  const rows = page.runs.map((run, index) => ({
    runs: [index],
    values: [
      run.name, run.status, ...names.map((name) => run.parameters[name] ?? null), run.flows.length, run.all_flows,
      ...(hasReasons ? [run.reason ?? ""] : []),
    ],
  }));
  return { title: "Runs", columns, rows };
}
