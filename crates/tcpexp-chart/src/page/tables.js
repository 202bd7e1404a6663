"use strict";
// Tables that sort by the column clicked on.

// table: { title, columns: [{ name, definition }], rows }
function makeTable(place, table) {
  const head = element("tr", {});
  const body = element("tbody", {});
  const rows = table.rows.map((row, index) => ({ row, index, line: tableLine(row) }));
  table.columns.forEach((column, index) => {
    const isText = table.rows.some((row) => typeof row[index] === "string");
    const title = element("th", { scope: "col", title: column.definition ?? "", className: isText ? "text" : "" }, column.name);
    title.addEventListener("click", () => {
      const way = title.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      for (const other of head.children) other.removeAttribute("aria-sort");
      title.setAttribute("aria-sort", way);
      sortRows(rows, index, way === "ascending" ? 1 : -1);
      body.append(...rows.map(({ line }) => line));
    });
    head.append(title);
  });
  body.append(...rows.map(({ line }) => line));
  place.append(
    element("h2", {}, table.title),
    element("div", { className: "scroll" }, element("table", { className: "rows" }, element("thead", {}, head), body)),
  );
  return rows.map(({ line }) => line);
}

function tableLine(row) {
  return element("tr", {}, ...row.map((cell) => {
    const isText = typeof cell === "string";
    return element("td", { className: isText ? "text" : "", title: isText ? cell : "" }, numberText(cell));
  }));
}

// What is not known comes last, either way.
function sortRows(rows, index, sign) {
  rows.sort((a, b) => {
    const [one, other] = [a.row[index], b.row[index]];
    if (one == null || other == null) return (one == null) - (other == null);
    const order = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
    return sign * order || a.index - b.index;
  });
}
