"use strict";
// Lines over one axis, distributions, and boxes: drawn by uPlot, fed with the flows to be shown.

// Okabe and Ito's colours, which readers of any colour vision tell apart.
// Behind the first seven, darker shades of them, so that no two of LINES_AT_MOST lines share a colour.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#003f62", "#753400", "#005740", "#70435c", "#8a8a8a"];
// Lines of one name, and those beyond the colours, differ in their dashes.
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
const LINES_AT_MOST = 12;
const HEIGHT = 260;

// All charts over time zoom and point together.
const TIME_SYNC = "time";

// lines: [{ label, colour, dash, x, y }]
function lineChart(place, title, axes, lines, sync) {
  const frame = element("div", { className: "chart" }, element("h3", {}, title));
  place.append(frame);
  const data = lines.length === 0 ? [[], []] : uPlot.join(lines.map((line) => [line.x, line.y]));
  const series = lines.map((line) => ({
    label: line.label,
    stroke: line.colour,
    dash: line.dash,
    width: 1.5,
    spanGaps: true,
    points: { show: line.x.length < 3 },
    value: (_, value) => value == null ? "–" : numberText(value),
  }));
  const options = {
    width: frame.clientWidth,
    height: HEIGHT,
    scales: { x: { time: false } },
    cursor: sync ? { sync: { key: TIME_SYNC }, drag: { x: true, y: false } } : { drag: { x: true, y: true } },
    legend: { live: true },
    axes: [{ label: axes.x, labelSize: 22, size: 34 }, { label: axes.y, labelSize: 22, size: 58, values: (_, ticks) => ticks.map(numberText) }],
    series: [{ label: axes.x, value: (_, value) => value == null ? "–" : numberText(value) }, ...series],
  };
  const chart = new uPlot(options, data, frame);
  return { frame, chart };
}

// boxes: [{ label, colour, quantiles }], the quantiles at equal steps from the smallest to the largest value.
function boxChart(place, title, axis, boxes) {
  const frame = element("div", { className: "chart" }, element("h3", {}, title));
  place.append(frame);
  const at = (box, part) => box.quantiles[Math.round(part * (box.quantiles.length - 1))];
  const rows = [0.05, 0.25, 0.5, 0.75, 0.95].map((part) => boxes.map((box) => at(box, part)));
  const names = ["5 %", "25 %", "median", "75 %", "95 %"];
  const options = {
    width: frame.clientWidth,
    height: HEIGHT,
    scales: { x: { time: false, range: [-0.6, Math.max(boxes.length, 1) - 0.4] }, y: { range: (_, least, most) => most == null ? [0, 1] : [Math.min(0, least), most * 1.05] } },
    cursor: { drag: { x: true, y: false } },
    axes: [
      { splits: boxes.map((_, index) => index), values: (_, splits) => splits.map((index) => boxes[index]?.short ?? ""), rotate: boxes.length > 6 ? -45 : 0, size: boxes.length > 6 ? 90 : 34, grid: { show: false } },
      { label: axis, labelSize: 22, size: 58, values: (_, ticks) => ticks.map(numberText) },
    ],
    series: [
      { label: "flow", value: (_, index) => boxes[index]?.label ?? "–" },
      ...names.map((label) => ({ label, paths: () => null, points: { show: false }, value: (_, value) => value == null ? "–" : numberText(value) })),
    ],
    hooks: { draw: [(chart) => boxes.forEach((box, index) => drawBox(chart, box, index, rows.map((row) => row[index])))] },
  };
  const chart = new uPlot(options, [boxes.map((_, index) => index), ...rows], frame);
  return { frame, chart };
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
