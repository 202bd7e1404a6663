"use strict";
// Tables that sort by the column clicked on, and hide the rows that the filters exclude.

// table: { title, columns: [{ heading, definition, is_main }], rows: [{ runs, values }] }
// Returns a function that shows the rows of these runs only.
function makeTable(place, table) {
  const head = element("tr", {});
  const body = element("tbody", {});
  const rows = table.rows.map((row, index) => ({ ...row, index, line: tableLine(row.values, table.columns) }));
  table.columns.forEach((column, index) => {
    const isText = table.rows.some((row) => typeof row.values[index] === "string");
    const sort = element("button", { type: "button", title: column.definition }, hyphenated(column.heading));
    const title = element("th", { scope: "col", className: classes(isText, column), "data-heading": sort.textContent }, sort);
    sort.addEventListener("click", () => {
      const order = title.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      for (const other of head.children) other.removeAttribute("aria-sort");
      title.setAttribute("aria-sort", order);
      sortRows(rows, index, order === "ascending" ? 1 : -1);
      body.append(...rows.map(({ line }) => line));
    });
    head.append(title);
  });
  body.append(...rows.map(({ line }) => line));
  const lines = element("table", { className: "rows" }, element("thead", {}, head), body);
  const counted = element("span", { className: "counted" });
  place.append(element("h2", {}, table.title, counted, ...allColumns(table, lines)), element("div", { className: "scroll" }, lines));
  return (runs) => {
    for (const row of rows) row.line.hidden = !row.runs.some((run) => runs.has(run));
    const shown = rows.filter((row) => !row.line.hidden).length;
    counted.textContent = shown < rows.length ? ` (${shown} of ${rows.length})` : "";
  };
}

// Long words of a heading may be divided before their last syllables.
function hyphenated(heading) {
  return heading.replace(/(\w{6,})(mission|gence|tion|ness)\b/g, "$1\u00ad$2");
}

// The box that shows the columns of the second rank, if there are any.
function allColumns(table, lines) {
  if (table.columns.every((column) => column.is_main)) return [];
  const tick = element("input", { type: "checkbox" });
  tick.addEventListener("change", () => lines.classList.toggle("all", tick.checked));
  return [element("label", { className: "more" }, tick, ` all ${table.columns.length} columns`)];
}

function tableLine(values, columns) {
  return element("tr", {}, ...values.map((cell, index) => {
    const isText = typeof cell === "string";
    return element("td", { className: classes(isText, columns[index]), title: isText ? cell : "" }, numberText(cell));
  }));
}

function classes(isText, column) {
  return [isText ? "text" : "", column.is_main ? "" : "rest"].join(" ").trim();
}

// Unknown values come last in both orders.
function sortRows(rows, index, sign) {
  rows.sort((a, b) => {
    const [one, other] = [a.values[index], b.values[index]];
    if (one == null || other == null) return (one == null) - (other == null);
    const order = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
    return sign * order || a.index - b.index;
  });
}
