// Live streams, with filters. The site filters, since it may have thousands; of the fastest it tells once a second anyway.

import { ask } from "./api.js";
import { byId, list, record, text } from "./dom.js";
import { DASH, count, duration, percent, rate, ratio, size } from "./format.js";
import { options } from "./parts.js";
import { Table } from "./table.js";

const LIMITS = [
  "outage",
  "far array",
  "store",
  "shaping",
  "cpu",
  "wan rate",
  "round trip or window",
  "other site",
  "source idle",
];
const MOST = 100;

export class Streams {
  constructor(refresh) {
    this.live = null;
    this.form = byId("filters");
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", refresh);
    options(this.form.elements.limited_by, ["", "anything"], LIMITS);
    this.table = new Table(
      byId("streams-table"),
      [
        { name: "Stream", value: (row) => [`${row.id}`, row.peer] },
        { name: "Who", value: (row) => [row.initiator ?? row.origin, row.initiator ? row.origin : ""] },
        { name: "Where", value: (row) => [byOf(row), row.target ?? ""] },
        { name: "Age", number: true, value: (row) => duration(row.age_seconds) },
        { name: "Sends", number: true, value: (row) => [rate(row.sent_bits_per_second), size(row.bytes?.raw)] },
        {
          name: "Delivers",
          number: true,
          value: (row) => [rate(row.delivered_bits_per_second), size(row.bytes?.delivered)],
        },
        { name: "Reduction", number: true, value: (row) => [reduction(record(row.bytes)), row.compression] },
        { name: "Limited by", value: (row) => [verdict(record(row.verdict)), record(row.verdict).words ?? ""] },
      ],
      {
        caption: "Live streams",
        key: (row) => `${row.peer} ${row.direction} ${row.id}`,
        empty: "",
      },
    );
  }

  get query() {
    const { search, peer, share, limited_by, order } = Object.fromEntries(new FormData(this.form));
    const [kind, ...name] = share.split(" ");
    return { search, peer, limited_by, order, limit: MOST, ...(kind ? { [kind]: name.join(" ") } : {}) };
  }

  /** Whether the fastest are wanted, whatever they are. */
  get fastest() {
    const { order, limit, ...filters } = this.query;
    return order === "rate" && !Object.values(filters).some(Boolean);
  }

  /** Once a second; drawn at the pace of `refresh`, since rows that change places cannot be read. */
  show(live) {
    this.live = live;
  }

  async refresh() {
    if (this.fastest) {
      const { streams, streams_total: total } = this.live;
      this.draw(list(streams), total, total);
      return;
    }
    const query = this.query;
    const answer = await ask("/streams", query);
    if (JSON.stringify(query) === JSON.stringify(this.query))
      this.draw(list(answer.streams), answer.matching, answer.total);
  }

  draw(streams, matching, total) {
    this.table.said = total ? "No stream passes these filters." : "There are no streams.";
    this.table.show(streams);
    const shown = streams.length < matching ? `, ${count(streams.length)} of them here` : "";
    text(byId("streams-count"), `${count(matching)} of ${count(total)} live streams${shown}`);
  }

  /** What can be chosen, by the status. */
  showStatus(status) {
    const peers = list(status.peers);
    options(
      this.form.elements.peer,
      ["", "any"],
      peers.map((peer) => peer.name),
    );
    const shares = new Set(peers.flatMap((peer) => list(peer.shares).map((share) => share.name)));
    options(this.form.elements.share, ["", "any"], [...shares].sort());
  }
}

function byOf(row) {
  if (row.forward) return `forward ${row.forward}`;
  return row.export ? `export ${row.export}` : DASH;
}

function reduction(bytes) {
  const sent = bytes.after_compression;
  return bytes.raw && sent ? ratio(bytes.raw / sent) : DASH;
}

function verdict({ limit, share }) {
  return limit ? `${limit}, ${percent(share)}` : DASH;
}
