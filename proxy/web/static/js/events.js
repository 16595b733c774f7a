// Events, newest first, each with its code and remedy; and warnings, which hold as long as they are shown.

import { ask } from "./api.js";
import { byId, list, prose, set, text } from "./dom.js";
import { count, introduced, moment } from "./format.js";
import { badge, notes } from "./parts.js";
import { Table, write } from "./table.js";

const MOST = 200;
const NO_WARNINGS =
  "Nothing to warn of: what is sent reduces, and no rate or window holds it back for most of the time, " +
  "idle time included.";
const SEVERITIES = ["info", "warning", "error"];

export class Events {
  constructor() {
    this.events = [];
    this.last = null;
    this.newest = 0;
    this.due = false; // many may come at once: they are drawn together
    this.severity = byId("severity");
    this.severity.addEventListener("change", () => this.draw());
    this.table = new Table(
      byId("events-table"),
      [
        { name: "When", whole: true, value: (row) => moment(row.time) },
        { name: "Severity", draw: (cell, row) => badge(cell, row.severity, row.severity) },
        { name: "Code", whole: true, value: (row) => row.code },
        { name: "About", value: (row) => row.subject },
        {
          name: "What happened, and what to do",
          fill: true,
          draw: (cell, row) => write(cell, [words(row), row.remedy], prose),
        },
      ],
      { caption: "Events, newest first", key: (row) => row.number, empty: "No event." },
    );
  }

  /** After a pause: counts may have risen, and a site that has begun anew may count its events from 1 again. */
  renew() {
    this.events = [];
    this.last = null;
  }

  /** Ask for what is new: `newest` comes every second. */
  async refresh() {
    const { newest, last } = this;
    if (newest === last) return;
    const answer = await ask("/events", { after: last ?? 0, limit: MOST });
    if (last !== this.last) return;
    this.add(list(answer.events));
    this.last = newest;
  }

  add(events) {
    const known = new Map([...this.events, ...events].map((event) => [event.number, event]));
    this.events = [...known.values()].sort((one, other) => other.number - one.number).slice(0, MOST);
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.due = false;
    if (this.last === null && this.events.length === 0) return; // no answer yet
    const least = SEVERITIES.indexOf(this.severity.value);
    this.table.show(this.events.filter((event) => SEVERITIES.indexOf(event.severity) >= least));
  }
}

function words({ words: what, count: times }) {
  return times > 1 ? `${what} (${count(times)} times)` : what;
}

export function showWarnings(live) {
  const cautions = list(live.warnings);
  text(byId("warnings-link"), cautions.length ? `Warnings (${count(cautions.length)})` : "Warnings");
  text(byId("no-warnings"), NO_WARNINGS);
  set(byId("no-warnings"), "hidden", cautions.length > 0);
  notes(
    byId("cautions"),
    cautions.map((caution) => ({
      key: `${caution.code} ${caution.subject}`,
      level: "warning",
      badge: "Warning",
      words: introduced(caution.subject, caution.words),
      remedy: caution.remedy,
      about: `${caution.code}, since ${moment(caution.since)}`,
    })),
  );
}
