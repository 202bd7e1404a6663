"use strict";
// Charts over one axis, distributions, and boxes, drawn by uPlot.

// The Okabe-Ito palette, which readers of any colour vision can distinguish, and darker shades of it:
// no two of MAX_LINES lines share a colour. The palette for dark backgrounds has lighter shades.
const COLOURS = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#003f62", "#753400", "#005740", "#70435c", "#8a8a8a"],
  dark: ["#56b4e9", "#e69f00", "#2fc79b", "#e39ac4", "#f0e442", "#ff7f50", "#ffffff", "#a8d8f4", "#f3cc7d", "#94e2cb", "#f0cbe0", "#9a9a9a"],
};
// Lines of one name, and those beyond the colours, differ in their dashes.
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const MAX_LINES = 12;
const HEIGHT = 260;
// Maximum time between joined values, as a share of the time of all lines: that of the SVG charts.
const JOINED = 0.02;
// Diameter of the dots of values that are too close in time for a visible line, in pixels.
const DOT = 6;
// Least range of a distribution's axis, as a share of its values: labels of a narrower range have too few
// digits to differ.
const LEAST_RANGE = 1e-6;
// Room beside a distribution of a single value, as a share of the value.
const ROOM = 0.05;
// Font and width of the vertical axis, as uPlot draws them.
const AXIS_FONT = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", Arial, \"Noto Sans\", sans-serif";
const AXIS_SIZE = 80;

// All charts over time zoom and point together.
const TIME_SYNC = "time";

const darkness = window.matchMedia("(prefers-color-scheme: dark)");
const palette = () => (darkness.matches ? COLOURS.dark : COLOURS.light);
const valueText = (_, value) => (value == null ? "–" : numberText(value));
// A range of a single value, or of values that no axis distinguishes, gets room on both sides.
const withRoom = (_, least, most) => {
  const size = Math.max(Math.abs(least), Math.abs(most));
  if (most == null || most - least > size * LEAST_RANGE) return [least, most];
  return [least - (size * ROOM || 1), most + (size * ROOM || 1)];
};
const fromZero = (_, least, most) => (most == null ? [0, 1] : [Math.min(0, least), most * 1.05 || 1]);

// An axis in the colours of the page.
function axis(more) {
  const style = getComputedStyle(document.documentElement);
  const [ink, line] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
  return { stroke: ink, labelSize: 22, ticks: { stroke: line }, ...more, grid: { stroke: line, ...more.grid } };
}

// lines: [{ label, colour, dash, x, y }]. A chart is a title and a function that draws it into a frame.
// Over time, straight lines join the values; a distribution is a staircase.
function lineChart(title, axes, lines, isOverTime) {
  const shape = isOverTime
    ? { points: { size: DOT, filter: shortRuns } }
    : { points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) };
  const data = lines.length === 0 ? [[], []] : uPlot.join(lines.map((line) => [line.x, line.y]));
  const series = lines.map((line) => ({
    label: line.label,
    stroke: line.colour,
    dash: line.dash,
    width: 1.5,
    ...shape,
    value: valueText,
  }));
  const options = () => ({
    height: HEIGHT,
    scales: { x: { time: false, ...(isOverTime ? {} : { range: withRoom }) }, y: { range: fromZero } },
    cursor: { drag: { x: true, y: false }, ...(isOverTime ? { sync: { key: TIME_SYNC } } : {}) },
    legend: { live: true, markers: { dash: (plot, at) => (plot.series[at].dash?.length > 0 ? "dashed" : "solid") } },
    axes: [axis({ label: axes.x, size: 34 }), axis({ label: axes.y, size: 58, values: (_, ticks) => ticks.map(numberText) })],
    series: [{ label: axes.x, value: valueText }, ...series],
  });
  return { title, drawIn: (frame) => new uPlot({ ...options(), width: frame.clientWidth }, data, frame) };
}

// Puts an unknown value between values that are far apart in time, which ends the line there. The unknown
// values that uPlot.join adds for the times of other lines are of another kind, and end none.
function withGaps(lines) {
  const times = lines.flatMap(({ x }) => (x.length > 0 ? [x[0], x[x.length - 1]] : []));
  const apart = (Math.max(...times) - Math.min(...times)) * JOINED;
  return lines.map((line) => {
    const [x, y] = [[], []];
    line.x.forEach((time, index) => {
      const before = line.x[index - 1];
      if (index > 0 && time - before > apart) {
        x.push((before + time) / 2);
        y.push(null);
      }
      x.push(time);
      y.push(line.y[index]);
    });
    return { ...line, x, y };
  });
}

// Values to mark with a dot. A run narrower than the radius of a dot gets dots that are at least one radius
// apart in height: uPlot draws no line for a run between two gaps that falls on one pixel.
function shortRuns(chart, number) {
  const [times, values] = [chart.data[0], chart.data[number]];
  const runs = [[]];
  values.forEach((value, index) => {
    if (value === null) runs.push([]);
    else if (value !== undefined) runs[runs.length - 1].push(index);
  });
  const near = (scale) => (one, other) => Math.abs(chart.valToPos(one, scale) - chart.valToPos(other, scale)) < DOT / 2;
  const [isNearX, isNearY] = [near("x"), near("y")];
  const isNarrow = (run) => run.length > 0 && isNearX(times[run[0]], times[run[run.length - 1]]);
  return runs.filter(isNarrow).flatMap(([first, ...others]) => {
    const shown = [first];
    for (const index of others) {
      if (!isNearY(values[shown[shown.length - 1]], values[index])) shown.push(index);
    }
    return shown;
  });
}

// boxes: [{ label, colour, quantiles }], the quantiles at equal steps from the smallest to the largest value.
function boxChart(title, quantity, boxes) {
  const at = (box, part) => box.quantiles[Math.round(part * (box.quantiles.length - 1))];
  const rows = [0.05, 0.25, 0.5, 0.75, 0.95].map((part) => boxes.map((box) => at(box, part)));
  const names = ["5 %", "25 %", "median", "75 %", "95 %"];
  // Whether the labels fit depends on the width, which may change.
  const labels = (chart) => boxLabels(boxes.map((box) => box.short), chart.width);
  const options = () => ({
    height: HEIGHT,
    scales: { x: { time: false, range: [-0.6, Math.max(boxes.length, 1) - 0.4] }, y: { range: fromZero } },
    cursor: { drag: { x: true, y: false } },
    axes: [
      axis({
        splits: boxes.map((_, index) => index),
        values: (chart, splits) => splits.map((index) => labels(chart).texts[index] ?? ""),
        rotate: (chart) => labels(chart).rotate,
        size: (chart) => labels(chart).size,
        grid: { show: false },
      }),
      axis({ label: quantity, size: 58, values: (_, ticks) => ticks.map(numberText) }),
    ],
    series: [
      { label: "flow", value: (_, index) => boxes[index]?.label ?? "–" },
      ...names.map((label) => ({ label, paths: () => null, points: { show: false }, value: valueText })),
    ],
    hooks: { draw: [(chart) => boxes.forEach((box, index) => drawBox(chart, box, index, rows.map((row) => row[index])))] },
  });
  const data = [boxes.map((_, index) => index), ...rows];
  return { title, drawIn: (frame) => new uPlot({ ...options(), width: frame.clientWidth }, data, frame) };
}

// The names below the boxes of a chart: side by side if they fit, else upright and shortened. If there is
// no room for all of them, those of every second, third and so on; the legend names any box.
function boxLabels(names, width) {
  const ROW = 16;
  const LONGEST = 140;
  const slot = (width - AXIS_SIZE) / Math.max(names.length, 1);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = AXIS_FONT;
  const room = (text) => pen.measureText(text).width;
  if (names.every((name) => room(name) + ROW / 2 <= slot)) return { texts: names, rotate: 0, size: 34 };
  const each = Math.ceil(ROW / slot);
  const fits = (text) => room(text) <= LONGEST;
  const texts = names.map((name, index) => (index % each === 0 ? shortened(fits(name) ? name : onlyPorts(name), fits) : ""));
  return { texts, rotate: -90, size: Math.ceil(Math.max(...texts.map(room))) + ROW };
}

// Leaves out the addresses of a flow's ends: flows of one test differ in their ports.
function onlyPorts(name) {
  return name.replace(/\S+:(\d+) > \S+:(\d+)/, ":$1 > :$2");
}

// Leaves out the middle of a text, because flows differ in the ports at both ends.
function shortened(text, fits) {
  for (let kept = text.length; kept > 0; kept -= 1) {
    const candidate = kept === text.length ? text : `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
    if (fits(candidate)) return candidate;
  }
  return "";
}

function drawBox(chart, box, index, [low, lower, median, upper, high]) {
  const { ctx, bbox } = chart;
  const x = (value) => chart.valToPos(value, "x", true);
  const y = (value) => chart.valToPos(value, "y", true);
  const half = Math.min((x(1) - x(0)) * 0.3, 40);
  const centre = x(index);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.strokeStyle = box.colour;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.moveTo(centre, y(low));
  ctx.lineTo(centre, y(lower));
  ctx.moveTo(centre, y(upper));
  ctx.lineTo(centre, y(high));
  ctx.rect(centre - half, y(upper), 2 * half, y(lower) - y(upper));
  ctx.stroke();
  ctx.lineWidth = 4;
  ctx.beginPath();
  ctx.moveTo(centre - half, y(median));
  ctx.lineTo(centre + half, y(median));
  ctx.stroke();
  ctx.restore();
}
