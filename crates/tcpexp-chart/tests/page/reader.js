"use strict";
// Looks at the charts, leaves reno away, zooms, and sorts a table.
window.addEventListener("load", () => setTimeout(() => {
  const canvases = () => [...document.querySelectorAll("#charts canvas")];
  const isInked = (canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((part) => part > 0);
  const lines = () => document.querySelectorAll("#charts .chart:first-child .u-legend .u-series").length - 1;
  const shown = () => document.getElementById("shown").textContent;
  const found = { charts: canvases().length, inked: canvases().map(isInked), shown: [shown()], lines: [lines()] };
  document.querySelector("input[name=cc][value=reno]").click();
  found.shown.push(shown());
  found.lines.push(lines());
  found.faded = document.querySelectorAll("tr.filtered").length;
  // A chart is drawn only after the script that made it.
  setTimeout(() => zoom(charts[0].chart), 100);
  setTimeout(() => {
    found.zoomed = charts.slice(0, 2).map(({ chart }) => chart.scales.x.max - chart.scales.x.min < 20);
    const table = document.querySelectorAll("table.rows")[1];
    const title = table.querySelector("th:nth-child(3)");
    const first = () => table.querySelector("tbody td:nth-child(3)").textContent;
    title.click();
    const least = first();
    title.click();
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
