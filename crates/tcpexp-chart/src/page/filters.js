"use strict";
// Which runs the reader wants to see, and by which parameter they are coloured.

const EVERYTHING = "everything";

// A box to tick for each value of each parameter that distinguishes runs.
function makeFilters(page, place, onChange) {
  const wanted = new Map();
  for (const parameter of page.parameters) {
    wanted.set(parameter.name, new Set(parameter.values.map(textOf)));
    if (!parameter.is_distinguishing) continue;
    const box = element("fieldset", {}, element("legend", {}, parameter.heading));
    for (const value of parameter.values.map(textOf)) {
      const tick = element("input", { type: "checkbox", checked: true, name: parameter.name, value });
      tick.addEventListener("change", () => {
        const values = wanted.get(parameter.name);
        if (tick.checked) values.add(value); else values.delete(value);
        onChange();
      });
      box.append(element("label", {}, tick, " " + value));
    }
    place.append(box);
  }
  return wanted;
}

function makeColourChoice(page, place, onChange) {
  const choice = element("select", { id: "colour" });
  const varied = page.parameters.filter((parameter) => parameter.is_distinguishing);
  for (const { name, heading } of varied) choice.append(element("option", { value: name }, heading));
  choice.append(element("option", { value: EVERYTHING }, "each line"));
  // The parameter with the most values that have a colour each shows the most.
  const distinct = varied.filter(({ values }) => values.length <= COLOURS.light.length);
  const first = distinct.reduce((best, one) => (best.values.length >= one.values.length ? best : one), distinct[0] ?? varied[0]);
  if (first) choice.value = first.name;
  choice.addEventListener("change", onChange);
  const box = element("fieldset", {}, element("legend", {}, "colour"), choice);
  if (varied.length > 0) place.append(box);
  return choice;
}

function isWanted(run, wanted) {
  return [...wanted].every(([name, values]) => values.size > 0 && (!(name in run.parameters) || values.has(textOf(run.parameters[name]))));
}

// What every script of this page needs.

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made) made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function textOf(value) {
  return value === null || value === undefined ? "–" : String(value);
}

// Four significant digits, as a reader of a table wants them.
function numberText(value) {
  if (typeof value !== "number" || Number.isInteger(value)) return textOf(value);
  return String(Number(value.toPrecision(4)));
}
