// A chart over time, drawn by µPlot, with what it shows as text and as a table beside it.

import { h, text } from "./dom.js";
import { moment, rate } from "./format.js";
import { Table } from "./table.js";

const HEIGHT = 216;
const ROWS = 12;
const HOUR = 3600;
const DAY = 86400;

const colour = (hue) => getComputedStyle(document.documentElement).getPropertyValue(`--${hue}`).trim();

/**
 * What to write below the axis: seconds only for ticks closer than a minute, days for those as far apart, and where one
 * begins: of a week on a wide screen ticks are twelve hours apart.
 */
export function ticks(plot, splits, axis, space, step) {
  const clock = { hour: "2-digit", minute: "2-digit", ...(step < 60 ? { second: "2-digit" } : {}) };
  return splits.map((seconds) => {
    const date = new Date(seconds * 1000);
    const begins = step >= HOUR && date.getHours() === 0;
    return step < DAY && !begins
      ? date.toLocaleTimeString("en-GB", clock)
      : date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  });
}

/** The steps of a line with nothing known on either side, as of a site that has only begun: no line leads there. */
function lonely(plot, series) {
  const column = plot.data[series];
  const known = (at) => typeof column[at] === "number";
  return [...column.keys()].filter((at) => known(at) && !known(at - 1) && !known(at + 1));
}

export class Chart {
  /** In a figure. Lines are { name, hue, column }: a name, a colour of tokens.css, and which column of the data. */
  constructor(figure, title, lines) {
    this.title = title;
    this.lines = lines;
    this.data = null;
    this.place = h("div.plot", { role: "img" });
    this.values = lines.map(() => h("b"));
    this.when = h("span");
    const keys = lines.map((line, index) =>
      h("span", {}, h("span.key", { "data-hue": line.hue }), `${line.name} `, this.values[index]),
    );
    const alternative = h("div");
    this.details = h("details", {}, h("summary", {}, "The same as a table"), alternative);
    this.table = new Table(
      alternative,
      [
        { name: "Time", value: (row) => moment(row.time) },
        ...lines.map((line) => ({ name: line.name, number: true, value: (row) => rate(row[line.column]) })),
      ],
      { caption: `${title}, averages`, key: (row) => row.time },
    );
    const caption = h("figcaption", {}, h("h3", {}, title), h("p.legend.readout", {}, ...keys, this.when));
    figure.replaceChildren(caption, this.place, this.details);
    addEventListener("themechange", () => this.rebuild());
    new ResizeObserver(() => this.plot?.setSize(this.extent())).observe(this.place);
  }

  /** Show these columns: { time: [...], <column>: [...] }. */
  show(data) {
    this.data = data;
    if (!globalThis.uPlot) this.details.open = true;
    else if (this.plot) this.plot.setData(this.columns());
    else this.rebuild();
    this.table.show(this.rows());
    this.read(this.plot?.cursor.idx ?? null);
    this.place.setAttribute("aria-label", this.inWords());
  }

  columns() {
    return [this.data.time, ...this.lines.map((line) => this.data[line.column])];
  }

  extent() {
    return { width: Math.max(120, this.place.clientWidth), height: HEIGHT };
  }

  rebuild() {
    if (!this.data || !globalThis.uPlot) return;
    this.plot?.destroy();
    this.plot = new globalThis.uPlot(this.settings(), this.columns(), this.place);
  }

  settings() {
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { stroke: colour("muted"), font, grid: { stroke: colour("grid"), width: 1 }, ticks: { show: false } };
    return {
      ...this.extent(),
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 6 } },
      scales: { y: { range: (plot, least, most) => [0, most > 0 ? most * 1.08 : 1000] } },
      axes: [
        { ...axis, values: ticks, space: 72, size: 32 },
        { ...axis, values: (plot, splits) => splits.map(rate), size: 84, space: 36 },
      ],
      series: [
        {},
        ...this.lines.map((line) => ({
          label: line.name,
          stroke: colour(line.hue),
          fill: `${colour(line.hue)}1f`,
          width: 1.75,
          points: { show: true, size: 6, fill: colour(line.hue), filter: lonely },
        })),
      ],
      hooks: { setCursor: [(plot) => this.read(plot.cursor.idx)] },
    };
  }

  /** Figures beside the legend: where the pointer is, otherwise the newest. */
  read(index) {
    this.lines.forEach((line, each) => {
      const column = this.data[line.column];
      const known = (value) => value !== null;
      text(this.values[each], rate(index === null ? column.findLast(known) : column[index]));
    });
    text(this.when, index === null ? "" : moment(this.data.time[index]));
  }

  /** At most ROWS rows, each the average of as many steps, newest first. */
  rows() {
    const { time } = this.data;
    const each = Math.max(1, Math.ceil(time.length / ROWS));
    const rows = [];
    for (let end = time.length; end > 0; end -= each) {
      const row = { time: time[end - 1] };
      for (const { column } of this.lines) row[column] = mean(this.data[column].slice(Math.max(0, end - each), end));
      rows.push(row);
    }
    return rows;
  }

  inWords() {
    const parts = this.lines.map((line) => {
      const known = this.data[line.column].filter((value) => value !== null);
      return `${line.name}: average ${rate(mean(known))}, at most ${rate(known.length ? Math.max(...known) : null)}`;
    });
    return `Chart. ${this.title}. ${parts.join("; ")}.`;
  }
}

function mean(values) {
  const known = values.filter((value) => typeof value === "number");
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}
