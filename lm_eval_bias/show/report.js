"use strict";
// Sorting and filtering of tables; without it they stand in their order, whole.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const first = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const text = (row, i) => row.cells[i].textContent.trim();
  const number = (row, i) => parseFloat(row.cells[i].dataset.value);
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    while (head.firstChild) button.append(head.firstChild);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const numeric = first.some((row) => !Number.isNaN(number(row, i)));
      const order = (a, b) => {
        if (!numeric) return (up ? 1 : -1) * text(a, i).localeCompare(text(b, i), "en", { numeric: true });
        const [x, y] = [number(a, i), number(b, i)];
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y); // what does not exist stands last
        return up ? x - y : y - x;
      };
      body.append(...[...first].sort(order));
    });
  });
  if (first.length > 8) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    const said = document.createElement("span");
    input.type = "search";
    said.setAttribute("role", "status");
    label.className = "filter";
    label.append("Rows that have ", input, " ");
    label.append(said);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      let left = 0;
      for (const row of first) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        left += !row.hidden;
      }
      said.textContent = wanted ? `${left} of ${first.length}` : "";
    });
    table.parentElement.before(label);
  }
}
// What a link leads to may lie in a closed fold.
const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target && target.closest("details:not([open])"); fold; fold = target.closest("details:not([open])")) fold.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
// Paper has no folds; after printing those are closed again that were.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  for (const fold of opened) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of opened) fold.open = false;
  opened = [];
});
