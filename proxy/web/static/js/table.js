// Tables that are kept up to date in place. On a narrow screen each row becomes a card (css/parts.css), so the roles
// are spelt out: a table that is displayed as something else loses its own.

import { h, reconcile, set, text } from "./dom.js";

const UNANSWERED = "No answer yet.";

/**
 * A table for `place`. Columns are { name, value(row), number, whole, wide, fill, draw(cell, row) }: `value` gives text,
 * or [text, under]; `draw` fills a cell itself; what is `whole` is never broken. The first column names the row.
 * Options: caption, empty (said instead of a table without rows; before the first answer that would be a claim),
 * key(row), depth(row).
 */
export class Table {
  constructor(place, columns, { caption = "", empty = "", key, depth = () => null }) {
    this.columns = columns;
    this.key = key;
    this.depth = depth;
    this.body = h("tbody", { role: "rowgroup" });
    const heads = columns.map((column) =>
      h("th", { scope: "col", role: "columnheader", class: column.number ? "number" : null }, column.name),
    );
    this.table = h(
      "table.cards",
      { role: "table", hidden: true },
      caption ? h("caption", { class: "unseen" }, caption) : null,
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...heads)),
      this.body,
    );
    this.said = empty;
    this.empty = h("p.empty", {}, UNANSWERED);
    place.replaceChildren(this.table, this.empty);
  }

  /** Show these rows. */
  show(rows) {
    set(this.table, "hidden", rows.length === 0);
    set(this.empty, "hidden", rows.length > 0);
    text(this.empty, this.said);
    reconcile(
      this.body,
      rows,
      this.key,
      () => this.make(),
      (element, row) => this.update(element, row),
    );
  }

  make() {
    const cells = this.columns.map((column, index) =>
      index === 0
        ? h("th", { scope: "row", role: "rowheader", class: classOf(column) })
        : h("td", { role: "cell", "data-label": column.name, class: classOf(column) }),
    );
    return h("tr", { role: "row" }, ...cells);
  }

  update(element, row) {
    set(element, "data-depth", this.depth(row));
    this.columns.forEach((column, index) => {
      const cell = element.children[index];
      if (column.draw) column.draw(cell, row);
      else write(cell, column.value(row));
      if (index > 0) set(cell, "data-empty", cell.textContent === "" && !column.wide);
    });
  }
}

function classOf(column) {
  return ["number", "whole", "wide", "fill"].filter((name) => column[name]).join(" ") || null;
}

/** Text in a cell, and smaller text under it, as `tell` shows it. */
export function write(cell, value, tell = text) {
  const [main, under] = Array.isArray(value) ? value : [value, ""];
  if (!cell.firstElementChild) cell.replaceChildren(h("span"), h("span.under"));
  text(cell.children[0], main);
  tell(cell.children[1], under ?? "");
  set(cell.children[1], "hidden", !under);
}
