"use strict";
// Looks at the charts, excludes reno, zooms, and sorts a table.

// Boxes that overlap, charts wider than their frame, and a page wider than the window.
function overlaps() {
  const box = (part) => part.getBoundingClientRect();
  const frames = [...document.querySelectorAll("#charts .chart")];
  const parts = [...frames, ...document.querySelectorAll("header, #filters, #shown, #tables h2, #tables .scroll")].filter((part) => box(part).height > 0);
  const cross = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
  const crossing = parts.flatMap((one, index) => parts.slice(index + 1).filter((other) => cross(box(one), box(other))));
  const wide = frames.filter((frame) => [...frame.querySelectorAll("canvas")].some((canvas) => box(canvas).right > box(frame).right + 0.5));
  const isTooWide = document.documentElement.scrollWidth > window.innerWidth;
  return crossing.length + wide.length + Number(isTooWide);
}

// Before any event of the browser could resize a chart.
const firstOverlaps = overlaps();

window.addEventListener("load", () => setTimeout(() => {
  const canvases = () => [...document.querySelectorAll("#charts canvas")];
  const isInked = (canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((part) => part > 0);
  const lines = () => document.querySelectorAll("#charts .chart:first-child .u-legend .u-series").length - 1;
  const shown = () => document.getElementById("shown").textContent;
  const found = { charts: canvases().length, inked: canvases().map(isInked), shown: [shown()], lines: [lines()], overlaps: [firstOverlaps, overlaps()] };
  document.querySelector("input[name=cc][value=reno]").click();
  found.shown.push(shown());
  found.lines.push(lines());
  found.hidden_rows = document.querySelectorAll("tbody tr[hidden]").length;
  const cells = document.querySelectorAll("table.rows")[1];
  const columns = () => [...cells.querySelectorAll("th")].filter((title) => title.offsetWidth > 0).map((title) => title.textContent.replaceAll("\u00ad", ""));
  found.columns = columns();
  document.querySelector(".more input").click();
  found.all_columns = columns().length;
  // A chart is drawn only after the script that made it.
  setTimeout(() => zoom(charts[0].chart), 100);
  setTimeout(() => {
    found.zoomed = charts.slice(0, 2).map(({ chart }) => chart.scales.x.max - chart.scales.x.min < 20);
    const table = cells;
    const title = table.querySelector("th:nth-child(3)");
    const first = () => table.querySelector("tbody tr:not([hidden]) td:nth-child(3)").textContent;
    title.querySelector("button").click();
    const least = first();
    title.querySelector("button").click();
    found.first_goodputs = [first(), least];
    document.body.append(element("pre", { id: "found" }, JSON.stringify(found)));
  }, 300);
}, 200));

// Drags over the middle third of a chart.
function zoom({ over }) {
  const box = over.getBoundingClientRect();
  const mouse = (type, part, where = over) => where.dispatchEvent(new MouseEvent(type, {
    bubbles: true, view: window, button: 0, clientX: box.left + part * box.width, clientY: box.top + box.height / 2,
    movementX: 5, movementY: 5,
  }));
  mouse("mouseenter", 0.3);
  mouse("mousemove", 0.3);
  mouse("mousedown", 0.3);
  mouse("mousemove", 0.5);
  mouse("mousemove", 0.6);
  mouse("mouseup", 0.6, document);
}
